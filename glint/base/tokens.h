// Tokens as every interface has them. Files may store them narrower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace glint {

using TokenId = uint32_t;
inline constexpr size_t kMaxVocab = size_t{1} << 20;  // pieces of a vocabulary, in any file or option

// One sequence: target[i] follows input[i]. Both have the same length.
struct TokenRow {
  std::span<const TokenId> input, target;
};

}  // namespace glint
