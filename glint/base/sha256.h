// SHA-256 (FIPS 180-4), incremental: what data sets and checkpoints are checked with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace glint {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;
  // `automatic` takes the SHA instructions where the processor has them; the digest is the same.
  enum class Unit { automatic, portable };

  explicit Sha256(Unit unit = Unit::automatic);
  void update(std::span<const std::byte> bytes);
  Digest finish();  // pads and closes; the object then starts a new message

 private:
  using State = std::array<uint32_t, 8>;
  // The first 32 bits of the fractional parts of the square roots of the first eight primes.
  static constexpr State kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  void compress(const std::byte* blocks, size_t count);

  bool fast_;
  State state_ = kStart;
  std::array<std::byte, 64> pending_{};  // the first total_ % 64 bytes are in use
  uint64_t total_ = 0;                   // bytes
};

std::string hex(std::span<const uint8_t> bytes);  // lower case
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace glint
