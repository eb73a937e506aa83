// The bf16 block with vdpbf16ps (AVX-512 BF16), for processors that have it but no AMX.
#include "glint/kernels/bf16_blocks.h"

#if defined(__x86_64__) || defined(GLINT_SIMULATED_INTRINSICS)
#include <immintrin.h>  // of tests/kernels/simulated where the tests compile this file a second time

namespace glint {
namespace {

// Where pairs find their halves in 16 even and 16 odd numbers.
alignas(64) constexpr uint16_t kInterleave[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                  8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};

struct Avx512 {
  struct Session {};
  static constexpr bool kAnyRows = true, kPairs = true;

  GLINT_INLINE static void pairs(const float* even, const float* odd, Bf16Pair* out) {
    const auto both = (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(odd), _mm512_loadu_ps(even));
    _mm512_storeu_si512(out, _mm512_permutexvar_epi16(_mm512_loadu_si512(kInterleave), both));
  }
  GLINT_INLINE static void round(const float* from, uint16_t* out) {
    _mm512_storeu_si512(out, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from)));
  }

  static void block(size_t rows, size_t steps, Bf16Rows a, const uint16_t* b, float* c, size_t c_row, bool add) {
    size_t i = 0;
    for (; i + 8 <= rows; i += 8) tile<8>(steps, a, i, b, c, c_row, add);
    for (; i + 4 <= rows; i += 4) tile<4>(steps, a, i, b, c, c_row, add);
    for (; i < rows; i++) tile<1>(steps, a, i, b, c, c_row, add);
  }

 private:
  // Rows i, ..., i + kRows - 1 of the block: of 32 registers 2 kRows accumulators, 2 of B, 1 of A.
  template <size_t kRows>
  [[gnu::noinline]] static void tile(size_t steps, Bf16Rows a, size_t i, const uint16_t* b, float* c, size_t c_row,
                                     bool add) {
    const uint16_t* rows = a.at + i * a.row;
    c += i * c_row;
    __m512 acc[kRows][2];
    for (size_t r = 0; r < kRows; r++)
      for (size_t half = 0; half < 2; half++)
        acc[r][half] = add ? _mm512_loadu_ps(c + r * c_row + half * 16) : _mm512_setzero_ps();
    for (size_t step = 0; step < steps; step++) {
      for (size_t pair = 0; pair < 16; pair++) {
        const uint16_t* row = b + step * 1024 + pair * 32;
        const __m512bh b0 = (__m512bh)_mm512_loadu_si512(row), b1 = (__m512bh)_mm512_loadu_si512(row + 512);
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; r++) {
          int32_t both;
          __builtin_memcpy(&both, rows + r * a.row + (step * 16 + pair) * a.pair, sizeof both);
          const __m512bh x = (__m512bh)_mm512_set1_epi32(both);
          acc[r][0] = _mm512_dpbf16_ps(acc[r][0], x, b0);
          acc[r][1] = _mm512_dpbf16_ps(acc[r][1], x, b1);
        }
      }
    }
    for (size_t r = 0; r < kRows; r++)
      for (size_t half = 0; half < 2; half++) _mm512_storeu_ps(c + r * c_row + half * 16, acc[r][half]);
  }
};

}  // namespace

extern const Bf16Products bf16_avx512_products;
const Bf16Products bf16_avx512_products = make_bf16_products<Avx512>();

}  // namespace glint
#endif
