#include "glint/base/refuse.h"

#include "glint/base/error.h"

namespace glint {

void refuse(const std::string& file, uint64_t byte, std::string what, std::string expected, std::string hint) {
  throw Error({.code = ErrorCode::bad_file,
               .what = std::move(what),
               .where = file + ", byte " + std::to_string(byte),
               .expected = std::move(expected),
               .hint = std::move(hint)});
}

}  // namespace glint
