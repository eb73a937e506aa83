// The library names parameters and functions; the command line has options and verbs. What an Error of the
// library says in code marks is shown as it is typed here:
//
//   `d_model`                              --d-model
//   `vocab=4096`                           --vocab 4096
//   `force=true`, `byte_fallback=false`    --force, --no-byte-fallback
//   `tokenize(TEXT, out=DIR)`              glint tokenize TEXT --out DIR
#pragma once

#include <set>
#include <string>

#include "glint/base/error.h"
#include "glint/cli/program.h"

namespace glint::cli {

struct CommandWords {
  std::set<std::string> parameters;  // "d_model"
  std::set<std::string> verbs;
};
CommandWords command_words(const Program& program);

// Code marks around anything else stay.
std::string as_typed(const std::string& text, const CommandWords& words);
// All parts of an error. A `where` that is the name of a parameter alone needs no marks.
ErrorParts as_typed(ErrorParts parts, const CommandWords& words);

}  // namespace glint::cli
