#include "glint/kernels/bf16.h"

#include <string>

#include "glint/base/error.h"

namespace glint {

extern const Bf16Products bf16_emulated_products;
#if defined(GLINT_X86_LEVELS)
extern const Bf16Products bf16_avx512_products, bf16_amx_products;
#endif

const Bf16Products& bf16_products(Bf16Unit unit) {
  if (unit == Bf16Unit::emulated) return bf16_emulated_products;
#if defined(GLINT_X86_LEVELS)
  if (unit == Bf16Unit::amx) return bf16_amx_products;
  if (unit == Bf16Unit::avx512) return bf16_avx512_products;
#endif
  throw Error({.code = ErrorCode::usage,
               .what = "this processor has no bf16 instructions",
               .where = "`precision=bf16`",
               .hint = "`precision=f32`"});
}

}  // namespace glint
