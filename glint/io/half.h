// IEEE half precision.
#pragma once

#include <cstdint>

namespace glint {

// To nearest, ties to even. From 65520 on it becomes infinite.
uint16_t to_half(float value);
// Exact.
float from_half(uint16_t bits);

}  // namespace glint
