// The bf16 units that the tests run: the portable one, those of the processor where it has them, and on every
// machine the same source files over simulated intrinsics (tests/kernels/simulated).
#pragma once

#include <string>
#include <vector>

#include "glint/kernels/bf16.h"
#include "glint/kernels/gemm.h"
#include "tests/kernels/testing.h"

namespace glint {
// bf16_avx512.cc and bf16_amx.cc, compiled a second time: see tests/CMakeLists.txt.
extern const Bf16Products bf16_avx512_simulated, bf16_amx_simulated;
}  // namespace glint

namespace glint::model_testing {

struct Unit {
  std::string name;
  const Bf16Products* products;  // null where the processor lacks the instructions
  std::string missing = {};
};

inline std::vector<Unit> bf16_units() {
  const auto native = [](bool here, Bf16Unit unit) { return here ? &bf16_products(unit) : nullptr; };
  return {
      {"emulated", &bf16_products(Bf16Unit::emulated)},
      {"avx512", native(cpu().avx512_bf16, Bf16Unit::avx512),
       "this processor has no AVX-512 BF16: vdpbf16ps runs simulated only"},
      {"amx", native(cpu().amx_bf16, Bf16Unit::amx), "this processor has no AMX BF16: its tiles run simulated only"},
      {"avx512_simulated", &bf16_avx512_simulated},
      {"amx_simulated", &bf16_amx_simulated}};
}

inline Products bf16_of(const Unit& u) { return {kernels(cpu().best), *u.products}; }

}  // namespace glint::model_testing
