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
  std::set<std::string> given = {};  // what was typed: a path may have the name of a parameter
};
CommandWords command_words(const Program& program);

// Code marks around anything else stay.
std::string as_typed(const std::string& text, const CommandWords& words);
// All parts of an error. The `where` of a usage error that is the name of a parameter alone needs no marks,
// unless it was given: then it is a path.
ErrorParts as_typed(ErrorParts parts, const CommandWords& words);

}  // namespace glint::cli
