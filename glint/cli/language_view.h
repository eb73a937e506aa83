// What `glint spectrum` says of a language model on a terminal.
#pragma once

#include <string>

#include "glint/lab/read.h"
#include "glint/lab/run.h"

namespace glint::cli {

std::string language_text(const ReadResult& result);
std::string scan_text(const ScanResult& result);

}  // namespace glint::cli
