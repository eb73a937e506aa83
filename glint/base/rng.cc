#include "glint/base/rng.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace glint {

__extension__ using Uint128 = unsigned __int128;  // g++ and clang++ have it, the standard does not

PhiloxBlock philox(PhiloxBlock c, uint64_t seed) {
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kPhiloxRounds; round++) {
    const uint64_t a = uint64_t{kPhiloxM0} * c[0], b = uint64_t{kPhiloxM1} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  return c;
}

PhiloxBlock Rng::block(uint64_t i) const {
  return philox({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), sub_, static_cast<uint32_t>(stream_)},
                seed_);
}

uint32_t Rng::bits(uint64_t index) const { return block(index / 4)[index % 4]; }

double Rng::uniform(uint64_t index) const { return bits(index) * 0x1p-32; }

// Words 0 and 1 of a block make normals 0 and 1, words 2 and 3 make 2 and 3.
double Rng::normal(uint64_t index) const {
  const PhiloxBlock b = block(index / 4);
  const size_t pair = index % 4 / 2 * 2;
  const double radius = std::sqrt(-2.0 * std::log(((b[pair] >> 8) + 1) * kUnit24));
  const double angle = 2.0 * std::numbers::pi * ((b[pair + 1] >> 8) * kUnit24);
  return index % 2 == 0 ? radius * std::cos(angle) : radius * std::sin(angle);
}

uint64_t Rng::below(uint64_t bound, uint64_t index) const {
  const PhiloxBlock b = block(index);  // one block a draw: 64 bits
  const uint64_t r = uint64_t{b[0]} << 32 | b[1];
  return static_cast<uint64_t>(static_cast<Uint128>(r) * bound >> 64);
}

std::vector<uint32_t> Rng::permutation(uint32_t n) const {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t i = n; i > 1; i--) std::swap(order[i - 1], order[below(i, i)]);
  return order;
}

}  // namespace glint
