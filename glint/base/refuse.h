// The Error of a reader that stumbled at a byte of a file.
#pragma once

#include <cstdint>
#include <string>

namespace glint {

// Error (bad_file) at "FILE, byte N".
[[noreturn]] void refuse(const std::string& file, uint64_t byte, std::string what, std::string expected,
                         std::string hint = {});

}  // namespace glint
