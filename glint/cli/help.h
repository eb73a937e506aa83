// The texts of --help and --version.
#pragma once

#include <string>

#include "glint/cli/program.h"

namespace glint::cli {

// Columns for help on this terminal: its own, within 60 to 100; 80 where there is none.
size_t help_width(const Terminal& terminal);

std::string overview_text(const Program& program, size_t columns);
std::string verb_help(const Verb& verb, size_t columns);
std::string version_text(const CpuInfo& cpu, Isa isa);

}  // namespace glint::cli
