// The bf16 block with vdpbf16ps (AVX-512 BF16), for processors that have it but no AMX.
#include "glint/kernels/bf16_blocks.h"

#if defined(__x86_64__) || defined(GLINT_SIMULATED_INTRINSICS)
#include <immintrin.h>  // of tests/kernels/simulated where the tests compile this file a second time

namespace glint {
namespace {

struct Avx512 {
  struct Session {};

  static void block(size_t steps, const uint16_t* a, size_t a_row, const uint16_t* b, float* c, size_t c_row,
                    bool add) {
    constexpr size_t kRows = 8;  // 8 x 2 accumulators, 2 of B, 1 of A
    for (size_t i = 0; i < kBf16Block; i += kRows) {
      __m512 acc[kRows][2];
      for (size_t r = 0; r < kRows; r++)
        for (size_t half = 0; half < 2; half++)
          acc[r][half] = add ? _mm512_loadu_ps(c + (i + r) * c_row + half * 16) : _mm512_setzero_ps();
      for (size_t step = 0; step < steps; step++) {
        for (size_t pair = 0; pair < 16; pair++) {
          const uint16_t* row = b + step * 1024 + pair * 32;
          const __m512bh b0 = (__m512bh)_mm512_loadu_si512(row), b1 = (__m512bh)_mm512_loadu_si512(row + 512);
#pragma GCC unroll 8
          for (size_t r = 0; r < kRows; r++) {
            int32_t both;
            __builtin_memcpy(&both, a + (i + r) * a_row + step * 32 + 2 * pair, sizeof both);
            const __m512bh x = (__m512bh)_mm512_set1_epi32(both);
            acc[r][0] = _mm512_dpbf16_ps(acc[r][0], x, b0);
            acc[r][1] = _mm512_dpbf16_ps(acc[r][1], x, b1);
          }
        }
      }
      for (size_t r = 0; r < kRows; r++)
        for (size_t half = 0; half < 2; half++)
          _mm512_storeu_ps(c + (i + r) * c_row + half * 16, acc[r][half]);
    }
  }
};

}  // namespace

extern const Bf16Products bf16_avx512_products;
const Bf16Products bf16_avx512_products = make_bf16_products<Avx512>();

}  // namespace glint
#endif
