// Errors that many places throw in one form: a reader that stumbled at a byte of a file, and a value outside
// of its domain.
#pragma once

#include <cstdint>
#include <string>

namespace glint {

// Error (bad_file) at "FILE, byte N".
[[noreturn]] void refuse(const std::string& file, uint64_t byte, std::string what, std::string expected,
                         std::string hint = {});

// Error (usage): `name` is the option or parameter, `domain` what it may be.
[[noreturn]] void refuse_value(const std::string& name, const std::string& value, const std::string& domain);
// The same unless low <= value <= high.
void check_range(const char* name, uint64_t value, uint64_t low, uint64_t high);

}  // namespace glint
