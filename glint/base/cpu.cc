#include "glint/base/cpu.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "glint/base/error.h"

namespace glint {
namespace {

#if defined(__x86_64__)
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned sub = 0) {
  Registers r;
  __get_cpuid_count(leaf, sub, &r.a, &r.b, &r.c, &r.d);
  return r;
}

bool bit(unsigned word, int i) { return (word >> i & 1u) != 0; }

std::string brand_string() {
  std::string s;
  if (static_cast<unsigned>(__get_cpuid_max(0x80000000u, nullptr)) < 0x80000004u) return s;
  for (unsigned leaf = 0x80000002u; leaf <= 0x80000004u; leaf++) {
    const Registers r = cpuid(leaf);
    for (unsigned word : {r.a, r.b, r.c, r.d})
      for (int i = 0; i < 4; i++)
        if (const char c = static_cast<char>(word >> (8 * i)); c != '\0') s += c;
  }
  while (!s.empty() && s.back() == ' ') s.pop_back();
  while (!s.empty() && s.front() == ' ') s.erase(s.begin());
  return s;
}
#endif

size_t cache_bytes(int what) {
  const long n = ::sysconf(what);
  return n > 0 ? static_cast<size_t>(n) : 0;
}

std::string size_text(size_t bytes) {
  return bytes >= (1u << 20) ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes >> 10) + " KiB";
}

}  // namespace

bool request_amx() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr int kArchReqXcompPerm = 0x1023, kXfeatureTileData = 18;
  return ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureTileData) == 0;
#else
  return false;
#endif
}

CpuInfo detect_cpu() {
  CpuInfo info;
#if defined(__x86_64__)
  info.brand = brand_string();
  const Registers r1 = cpuid(1);
  info.family = static_cast<int>((r1.a >> 8 & 15u) + ((r1.a >> 8 & 15u) == 15 ? (r1.a >> 20 & 255u) : 0));
  info.model = static_cast<int>((r1.a >> 4 & 15u) | (r1.a >> 12 & 0xf0u));
  // The compiler's own check includes the operating system's part (XCR0).
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && bit(r1.c, 22) /* movbe */ && bit(r1.c, 29) /* f16c */ &&
                  bit(cpuid(0x80000001u).c, 5) /* lzcnt */;
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  info.best = v4 ? Isa::v4 : v3 ? Isa::v3 : Isa::baseline;
  info.avx512_bf16 = v4 && bit(cpuid(7, 1).a, 5);
  const Registers r7 = cpuid(7);
  info.amx_bf16 = info.avx512_bf16 && bit(r7.d, 22) && bit(r7.d, 24) && request_amx();
#endif
  info.l1d = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  info.l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  info.l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  return info;
}

std::string_view name(Isa isa) {
  static constexpr std::string_view kNames[] = {"baseline", "v3", "v4"};
  return kNames[static_cast<size_t>(isa)];
}

std::vector<Isa> runnable_isas(const CpuInfo& cpu) {
  std::vector<Isa> all = {Isa::baseline};
  if (cpu.best >= Isa::v3) all.push_back(Isa::v3);
  if (cpu.best >= Isa::v4) all.push_back(Isa::v4);
  return all;
}

Isa parse_isa(std::string_view word, const CpuInfo& cpu) {
  if (word.empty() || word == "auto") return cpu.best;
  for (Isa isa : {Isa::baseline, Isa::v3, Isa::v4}) {
    if (word != name(isa)) continue;
    if (isa <= cpu.best) return isa;
    bad_argument("`isa` or GLINT_ISA", "this processor cannot run instruction-set level " + std::string(word),
                 "at most " + std::string(name(cpu.best)) + " here (" + describe(cpu) + ")");
  }
  bad_argument("`isa` or GLINT_ISA", "unknown instruction-set level '" + std::string(word) + "'",
               suggest(word, {"auto", "baseline", "v3", "v4"}));
}

std::string_view name(Bf16Unit unit) {
  static constexpr std::string_view kNames[] = {"none", "avx512", "amx", "emulated"};
  return kNames[static_cast<size_t>(unit)];
}

Bf16Unit best_bf16(const CpuInfo& cpu) {
  return cpu.amx_bf16 ? Bf16Unit::amx : cpu.avx512_bf16 ? Bf16Unit::avx512 : Bf16Unit::none;
}

std::string describe(const CpuInfo& cpu) {
  std::string s = cpu.brand.empty() ? "unknown processor" : cpu.brand;
  s += " (family " + std::to_string(cpu.family) + " model " + std::to_string(cpu.model) + "), ";
  s += cpu.best == Isa::v4 ? "AVX-512" : cpu.best == Isa::v3 ? "AVX2" : "baseline instructions";
  s += cpu.amx_bf16 ? ", AMX bf16" : cpu.avx512_bf16 ? ", AVX-512 bf16" : ", no bf16";
  if (cpu.l2) s += ", L2 " + size_text(cpu.l2);
  if (cpu.l3) s += ", L3 " + size_text(cpu.l3);
  return s;
}

}  // namespace glint
