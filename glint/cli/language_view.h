// What `glint spectrum` says of a language model on a terminal.
#pragma once

#include <string>

#include "glint/lab/models/run.h"
#include "glint/lab/read/read.h"

namespace glint::cli {

std::string language_text(const ReadResult& result);
std::string scan_text(const ScanResult& result);

}  // namespace glint::cli
