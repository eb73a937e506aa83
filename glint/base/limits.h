// Limits of what a classifier reads and decides, in any data set, model or file. Labels have 32 bits in every
// interface and count from 0; files may store them narrower.
#pragma once

#include <cstddef>

namespace glint {

inline constexpr size_t kMaxInputs = size_t{1} << 20;  // numbers per sample
inline constexpr size_t kMaxClasses = size_t{1} << 16;

}  // namespace glint
