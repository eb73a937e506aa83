// What the parts of export.cc share; not for callers.
#pragma once

#include "glint/lab/export.h"

namespace glint {

ExportResult export_language(const Engine& engine, const ExportRequest& request);
ExportResult export_foreign(const Engine& engine, const ExportRequest& request);

}  // namespace glint
