// The bf16 block in portable code: right on every machine, for tests and for checking a bf16 run elsewhere.
#include "glint/kernels/bf16_blocks.h"

namespace glint {
namespace {

struct Emulated : PortableRounding {
  struct Session {};

  static constexpr bool kAnyRows = false, kPairs = false;

  static void block(size_t, size_t steps, Bf16Rows a, const uint16_t* b, float* c, size_t c_row, bool add) {
    float acc[kBf16Block][kBf16Block];
    for (size_t i = 0; i < kBf16Block; i++)
      for (size_t j = 0; j < kBf16Block; j++) acc[i][j] = add ? c[i * c_row + j] : 0.0f;
    for (size_t step = 0; step < steps; step++) {
      for (size_t pair = 0; pair < 16; pair++) {
        float even[kBf16Block], odd[kBf16Block];  // two rows of B, widened once for all rows of A
        for (size_t j = 0; j < kBf16Block; j++) {
          const uint16_t* row = b + step * 1024 + j / 16 * 512 + pair * 32 + j % 16 * 2;
          even[j] = from_bf16(row[0]);
          odd[j] = from_bf16(row[1]);
        }
        for (size_t i = 0; i < kBf16Block; i++) {
          const uint16_t* at = a.at + i * a.row + (step * 16 + pair) * a.pair;
          const float x = from_bf16(at[0]), y = from_bf16(at[1]);
          for (size_t j = 0; j < kBf16Block; j++) acc[i][j] += x * even[j] + y * odd[j];
        }
      }
    }
    for (size_t i = 0; i < kBf16Block; i++)
      for (size_t j = 0; j < kBf16Block; j++) c[i * c_row + j] = acc[i][j];
  }
};

}  // namespace

extern const Bf16Products bf16_emulated_products;
const Bf16Products bf16_emulated_products = make_bf16_products<Emulated>();

}  // namespace glint
