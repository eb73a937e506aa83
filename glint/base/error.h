// The one exception type of the library: what went wrong, where, what was expected, what to try.
#pragma once

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

}  // namespace glint
