// The one exception type of the library: what went wrong, where, what was expected, what to try.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace glint {

// The value is the exit code of the command-line program.
enum class ErrorCode {
  failure = 1,        // the machine said no: disk full, no permission, out of memory
  usage = 2,          // a flag, an option or an argument
  bad_file = 3,       // the content of an input file
  numeric = 4,        // NaN or infinity where a number was needed
  interrupted = 130,  // stopped by the user, state saved
};

struct ErrorParts {
  ErrorCode code = ErrorCode::failure;
  std::string what = {};      // one sentence, no full stop
  std::string where = {};     // file and byte, or option
  std::string expected = {};  // the rule that was broken
  std::string hint = {};      // a command or an action
};

class Error : public std::runtime_error {
 public:
  explicit Error(ErrorParts parts);
  ErrorCode code() const { return parts_.code; }
  int exit_code() const { return static_cast<int>(parts_.code); }
  const ErrorParts& parts() const { return parts_; }

 private:
  ErrorParts parts_;
};

// The candidate nearest to `word` by edit distance, or "" when none is near enough to be a slip.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean X?" for a near miss, otherwise "one of A, B, C"; "" when there are no candidates.
std::string suggest(std::string_view word, const std::vector<std::string>& candidates);

// What a caller of the library can get wrong is an Error (usage), not an assert: the process is the caller's.
// `where` names the function, the parameter or both.
[[noreturn]] void bad_argument(const std::string& where, const std::string& what, const std::string& expected,
                               const std::string& hint = {});
// The same unless `good`: for arguments whose shapes must fit together.
inline void check_argument(bool good, const char* where, const char* expected) {
  if (!good) bad_argument(where, "the arguments do not fit together", expected);
}

// Error (bad_file): `where` is the file, and what of it.
[[noreturn]] void bad_file(const std::string& where, const std::string& what, const std::string& expected,
                           const std::string& hint = {});
// The same of a reader that stumbled at a byte: at "FILE, byte N".
[[noreturn]] void refuse(const std::string& file, uint64_t byte, const std::string& what, const std::string& expected,
                         const std::string& hint = {});

}  // namespace glint
