#include "glint/base/refuse.h"

#include "glint/base/error.h"

namespace glint {

void refuse(const std::string& file, uint64_t byte, std::string what, std::string expected,
            std::string hint) {
  throw Error({.code = ErrorCode::bad_file,
               .what = std::move(what),
               .where = file + ", byte " + std::to_string(byte),
               .expected = std::move(expected),
               .hint = std::move(hint)});
}

void refuse_value(const std::string& name, const std::string& value, const std::string& domain) {
  throw Error({.code = ErrorCode::usage,
               .what = name + " = " + value + " is outside its domain",
               .where = name,
               .expected = domain});
}

void check_range(const char* name, uint64_t value, uint64_t low, uint64_t high) {
  if (value < low || value > high)
    refuse_value(name, std::to_string(value),
                 "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace glint
