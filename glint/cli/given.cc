#include "glint/cli/given.h"

#include "glint/base/error.h"

namespace glint::cli {

void refuse_given(const std::vector<GivenOption>& options, const std::string& what, const std::string& where,
                  const std::string& expected) {
  for (const GivenOption& o : options)
    if (o.option->given())
      throw Error(
          {.code = ErrorCode::usage, .what = o.flag + " " + what, .where = where, .expected = expected});
}

}  // namespace glint::cli
