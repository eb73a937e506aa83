// Counter-based random numbers (Philox4x32-7, Salmon et al. 2011): a value depends only on (seed, stream,
// index), never on what was drawn before, so any thread can draw any part and a run resumes from an index.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace glint {

// Streams keep uses apart: the same index in two streams gives unrelated numbers.
enum class Stream : uint32_t {
  init = 1,
  shuffle = 2,
  noise = 3,
  noise_choice = 4,
  glyphs = 5,
  sample = 6,
  test = 7,
  tales = 8
};

using PhiloxBlock = std::array<uint32_t, 4>;

inline constexpr int kPhiloxRounds = 7;  // the fewest that pass BigCrush
inline constexpr uint32_t kPhiloxM0 = 0xD2511F53u, kPhiloxM1 = 0xCD9E8D57u;
inline constexpr uint32_t kPhiloxW0 = 0x9E3779B9u, kPhiloxW1 = 0xBB67AE85u;

PhiloxBlock philox(PhiloxBlock counter, uint64_t seed);

class Rng {
 public:
  // `sub` separates further within a stream: an epoch, a tensor, a sample.
  Rng(uint64_t seed, Stream stream, uint32_t sub = 0) : seed_(seed), stream_(stream), sub_(sub) {}

  uint32_t bits(uint64_t index) const;
  double uniform(uint64_t index) const;  // in [0, 1), 32 bits
  double normal(uint64_t index) const;   // Box-Muller; the float kernels draw the same values
  // In [0, bound), bound > 0, bias below 2^-32 for bounds up to 2^32. Draw i takes the bits 4i to 4i + 3:
  // keep it and bits, uniform or normal on streams or subs of their own.
  uint64_t below(uint64_t bound, uint64_t index) const;
  // A permutation of 0..n-1, the same for the same (seed, stream, sub).
  std::vector<uint32_t> permutation(uint32_t n) const;

 private:
  PhiloxBlock block(uint64_t block_index) const;
  uint64_t seed_;
  Stream stream_;
  uint32_t sub_;
};

// Box-Muller takes the upper 24 bits of a word, which a float holds exactly: u = (bits24 + 1) 2^-24 is never
// 0.
inline constexpr double kUnit24 = 0x1p-24;

}  // namespace glint
