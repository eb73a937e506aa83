// What the parts of export.cc share; not for callers.
#pragma once

#include "glint/lab/publish/export.h"

namespace glint {

// Writes what the request asks for, and says so in the result.
void export_language(const Engine& engine, const ExportRequest& request, LanguageRun& run, ExportResult& result);

}  // namespace glint
