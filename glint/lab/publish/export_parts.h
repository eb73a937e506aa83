// What the parts of export.cc share; not for callers.
#pragma once

#include "glint/lab/publish/export.h"

namespace glint {

// Writes what the request asks for, and says so in the result.
// Of a run in the shape of a family. Error (usage) for any other, and for a gate that such files cannot name.
void export_gguf(const Engine& engine, const ExportRequest& request, const LanguageRun& run);
void export_language(const Engine& engine, const ExportRequest& request, LanguageRun& run, ExportResult& result);

}  // namespace glint
