// What a caller of the library can get wrong is an Error, not an assert: the process is the caller's.
#pragma once

#include <string>

#include "glint/base/error.h"

namespace glint {

// Error (usage). `where` names the function and, where there is one, the parameter.
[[noreturn]] inline void bad_argument(const std::string& where, const std::string& what, const std::string& expected) {
  throw Error({.code = ErrorCode::usage, .what = what, .where = where, .expected = expected});
}

// The same unless `good`: for arguments whose shapes must fit together.
inline void check_argument(bool good, const char* where, const char* expected) {
  if (!good) bad_argument(where, "the arguments do not fit together", expected);
}

}  // namespace glint
