#include "glint/base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "glint/base/sha256_ni.h"

namespace glint {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const uint32_t kSha256Round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

namespace {

constexpr size_t kBlock = kSha256Block;

uint32_t load_be(const std::byte* p) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) value = value << 8 | static_cast<uint32_t>(p[i]);
  return value;
}

struct Words {
  uint32_t w[16];
};

// One round. The caller renames the eight words instead of moving them: d and h are the two that change.
inline void round(uint32_t a, uint32_t b, uint32_t c, uint32_t& d, uint32_t e, uint32_t f, uint32_t g, uint32_t& h,
                  uint32_t k_plus_w) {
  const uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + (g ^ (e & (f ^ g))) + k_plus_w;
  const uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
  d += t1;
  h = t1 + t2;
}

// The message schedule in a ring of 16 words: word i becomes word i + 16.
inline uint32_t extend(Words& ring, int i) {
  uint32_t* w = ring.w;
  const uint32_t low = w[(i + 1) & 15], high = w[(i + 14) & 15];
  return w[i & 15] += (std::rotr(low, 7) ^ std::rotr(low, 18) ^ (low >> 3)) + w[(i + 9) & 15] +
                      (std::rotr(high, 17) ^ std::rotr(high, 19) ^ (high >> 10));
}

void blocks_portable(std::span<uint32_t, 8> state, const std::byte* blocks, size_t count) {
  for (; count > 0; count--, blocks += kBlock) {
    Words ring;
    for (size_t i = 0; i < 16; i++) ring.w[i] = load_be(blocks + 4 * i);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i += 8) {
      const auto word = [&](int j) { return kSha256Round[i + j] + (i < 16 ? ring.w[i + j] : extend(ring, i + j)); };
      round(a, b, c, d, e, f, g, h, word(0));
      round(h, a, b, c, d, e, f, g, word(1));
      round(g, h, a, b, c, d, e, f, word(2));
      round(f, g, h, a, b, c, d, e, word(3));
      round(e, f, g, h, a, b, c, d, word(4));
      round(d, e, f, g, h, a, b, c, word(5));
      round(c, d, e, f, g, h, a, b, word(6));
      round(b, c, d, e, f, g, h, a, word(7));
    }
    const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++) state[i] += sum[i];
  }
}

}  // namespace

Sha256::Sha256(Unit unit) : fast_(unit == Unit::automatic && has_sha_instructions()) {}

void Sha256::compress(const std::byte* blocks, size_t count) {
  (fast_ ? sha256_blocks_ni : blocks_portable)(state_, blocks, count);
}

void Sha256::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const size_t used = total_ % kBlock;
  total_ += bytes.size();
  if (used > 0) {
    const size_t take = std::min(kBlock - used, bytes.size());
    std::memcpy(pending_.data() + used, bytes.data(), take);
    bytes = bytes.subspan(take);
    if (used + take < kBlock) return;
    compress(pending_.data(), 1);
  }
  const size_t whole = bytes.size() / kBlock;
  compress(bytes.data(), whole);
  const std::span<const std::byte> rest = bytes.subspan(whole * kBlock);
  std::copy(rest.begin(), rest.end(), pending_.begin());
}

Sha256::Digest Sha256::finish() {
  const uint64_t bits = total_ * 8;
  const size_t used = total_ % kBlock;
  // One bit 1, zeros, and the length in the last eight bytes of a block.
  std::array<std::byte, 2 * kBlock> tail{};
  const size_t size = (used < kBlock - 8 ? kBlock : 2 * kBlock);
  std::copy_n(pending_.begin(), used, tail.begin());
  tail[used] = std::byte{0x80};
  for (size_t i = 0; i < 8; i++) tail[size - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  compress(tail.data(), size / kBlock);
  Digest digest;
  for (size_t i = 0; i < digest.size(); i++) digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  state_ = kStart;
  total_ = 0;
  return digest;
}

std::string hex(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t b : bytes) text += {kDigits[b >> 4], kDigits[b & 15]};
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hex(hash.finish());
}

}  // namespace glint
