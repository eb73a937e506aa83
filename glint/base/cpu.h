// What this processor can do, and which level of instructions the kernels are to use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace glint {

// Levels the plain kernels are compiled for. v3: AVX2 + FMA. v4: AVX-512 F/BW/CD/DQ/VL.
enum class Isa { baseline, v3, v4 };

// How bf16 products are computed. `emulated` is the tile kernel in portable code: right everywhere, slow; for
// tests.
enum class Bf16Unit { none, avx512, amx, emulated };

struct CpuInfo {
  std::string brand;  // as the processor names itself
  int family = 0, model = 0;
  Isa best = Isa::baseline;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;           // instructions present and granted by the kernel
  size_t l1d = 0, l2 = 0, l3 = 0;  // bytes, 0 when the system does not say
};

CpuInfo detect_cpu();

// Asks the kernel for the AMX tile registers (Linux: arch_prctl). Once a process; true when granted.
bool request_amx();

std::string_view name(Isa isa);
std::vector<Isa> runnable_isas(const CpuInfo& cpu);
// "baseline" | "v3" | "v4" | "auto"; Error (usage) for another word or a level this processor lacks.
Isa parse_isa(std::string_view word, const CpuInfo& cpu);

std::string_view name(Bf16Unit unit);
Bf16Unit best_bf16(const CpuInfo& cpu);

// "AMD EPYC (family 25 model 1), AVX2, no bf16, L2 512 KiB, L3 32 MiB"
std::string describe(const CpuInfo& cpu);

}  // namespace glint
