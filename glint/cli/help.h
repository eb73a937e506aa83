// The texts of --help, of `glint help words` and `glint help reading`, and of --version.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "glint/cli/program.h"

namespace glint::cli {

// Columns for help on this terminal: its own, within 60 to 100; 80 where there is none.
size_t help_width(const Terminal& terminal);

std::string overview_text(const Program& program, size_t columns);
std::string verb_help(const Verb& verb, size_t columns);
// A page of docs/ as text, "glossary" or "reading": links and marks are gone.
std::string page_text(std::string_view name, size_t columns);
std::string version_text(const CpuInfo& cpu, Isa isa);

// Pages of docs/ that are built in: cmake/embed.cmake.
struct BuiltInPage {
  std::string_view name;  // "glossary"
  std::string_view text;
};
std::span<const BuiltInPage> built_in_pages();

}  // namespace glint::cli
