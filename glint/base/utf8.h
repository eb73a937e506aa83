// Text that need not be UTF-8, made safe to show and to store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glint {

// Length of the well-formed UTF-8 sequence at the start of `s` (1 to 4), or 0 when there is none.
size_t utf8_length(std::string_view s);

// Every maximal stretch that cannot be part of UTF-8 becomes U+FFFD; gives how many there were.
uint64_t repair_utf8(std::string& text);

// Text from a file, for the terminal: without control characters.
std::string printable(std::string text);

}  // namespace glint
