// The bf16 block in portable code: right on every machine, for tests and for checking a bf16 run elsewhere.
#include "glint/kernels/bf16_blocks.h"

namespace glint {
namespace {

struct Emulated {
  static void round_row(const float* src, size_t n, uint16_t* out) {
    for (size_t i = 0; i < n; i++) out[i] = to_bf16(src[i]);
  }
  static void block(size_t steps, const uint16_t* a, size_t a_row, const uint16_t* b, float* c, size_t c_row,
                    bool add) {
    for (size_t i = 0; i < kBf16Block; i++) {
      float acc[kBf16Block] = {};
      for (size_t step = 0; step < steps; step++) {
        for (size_t pair = 0; pair < 16; pair++) {
          const float even = from_bf16(a[i * a_row + step * 32 + 2 * pair]);
          const float odd = from_bf16(a[i * a_row + step * 32 + 2 * pair + 1]);
          for (size_t half = 0; half < 2; half++) {
            const uint16_t* row = b + step * 1024 + half * 512 + pair * 32;
            for (size_t j = 0; j < 16; j++)
              acc[half * 16 + j] += even * from_bf16(row[2 * j]) + odd * from_bf16(row[2 * j + 1]);
          }
        }
      }
      for (size_t j = 0; j < kBf16Block; j++) c[i * c_row + j] = add ? c[i * c_row + j] + acc[j] : acc[j];
    }
  }
};

}  // namespace

extern const Bf16Products bf16_emulated_products;
const Bf16Products bf16_emulated_products = make_bf16_products<Emulated>();

}  // namespace glint
