#include "glint/base/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "glint/base/error.h"

namespace glint {
namespace {

CpuInfo with(Isa best, bool bf16 = false, bool amx = false) {
  CpuInfo cpu;
  cpu.brand = "Example 9000";
  cpu.family = 6;
  cpu.model = 143;
  cpu.best = best;
  cpu.avx512_bf16 = bf16;
  cpu.amx_bf16 = amx;
  return cpu;
}

TEST(ParseIsa, TakesEveryLevelTheProcessorHas) {
  const CpuInfo cpu = with(Isa::v4);
  EXPECT_EQ(parse_isa("baseline", cpu), Isa::baseline);
  EXPECT_EQ(parse_isa("v3", cpu), Isa::v3);
  EXPECT_EQ(parse_isa("v4", cpu), Isa::v4);
  for (Isa isa : {Isa::baseline, Isa::v3, Isa::v4}) EXPECT_EQ(parse_isa(name(isa), cpu), isa);
}

TEST(ParseIsa, AutoOrNothingIsTheBest) {
  for (Isa best : {Isa::baseline, Isa::v3, Isa::v4})
    for (const char* word : {"auto", ""}) EXPECT_EQ(parse_isa(word, with(best)), best);
}

TEST(ParseIsa, RefusesALevelThatTheProcessorLacks) {
  try {
    parse_isa("v4", with(Isa::v3));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE(e.parts().expected.find("at most v3"), std::string::npos) << e.what();
    EXPECT_NE(e.parts().expected.find("Example 9000"), std::string::npos) << e.what();
  }
}

TEST(ParseIsa, NamesTheChoicesForAnotherWord) {
  try {
    parse_isa("avx2", with(Isa::v4));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_EQ(e.parts().what, "unknown instruction-set level 'avx2'");
    EXPECT_EQ(e.parts().expected, "one of auto, baseline, v3, v4");
  }
  try {
    parse_isa("basline", with(Isa::v4));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().expected, "did you mean baseline?");
  }
}

TEST(Cpu, RunnableLevelsEndWithTheBest) {
  EXPECT_EQ(runnable_isas(with(Isa::baseline)), std::vector<Isa>{Isa::baseline});
  EXPECT_EQ(runnable_isas(with(Isa::v3)), (std::vector<Isa>{Isa::baseline, Isa::v3}));
  EXPECT_EQ(runnable_isas(with(Isa::v4)), (std::vector<Isa>{Isa::baseline, Isa::v3, Isa::v4}));
}

TEST(Cpu, Bf16PrefersTiles) {
  EXPECT_EQ(best_bf16(with(Isa::v3)), Bf16Unit::none);
  EXPECT_EQ(best_bf16(with(Isa::v4)), Bf16Unit::none);
  EXPECT_EQ(best_bf16(with(Isa::v4, true)), Bf16Unit::avx512);
  EXPECT_EQ(best_bf16(with(Isa::v4, true, true)), Bf16Unit::amx);
  EXPECT_EQ(name(Bf16Unit::none), "none");
  EXPECT_EQ(name(Bf16Unit::avx512), "avx512");
  EXPECT_EQ(name(Bf16Unit::amx), "amx");
  EXPECT_EQ(name(Bf16Unit::emulated), "emulated");
}

TEST(Cpu, DescribesItself) {
  CpuInfo cpu = with(Isa::v3);
  cpu.l2 = 512 << 10;
  cpu.l3 = 32 << 20;
  EXPECT_EQ(describe(cpu), "Example 9000 (family 6 model 143), AVX2, no bf16, L2 512 KiB, L3 32 MiB");
  EXPECT_EQ(describe(with(Isa::v4, true, true)), "Example 9000 (family 6 model 143), AVX-512, AMX bf16");
  EXPECT_EQ(describe(CpuInfo{}), "unknown processor (family 0 model 0), baseline instructions, no bf16");
}

// The kernel's list of flags is a second opinion.
TEST(Cpu, DetectionAgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string line, flags;
  while (std::getline(file, line))
    if (line.rfind("flags", 0) == 0) {
      flags = line.substr(line.find(':') + 1) + " ";
      break;
    }
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto all = [&](const char* words) {
    std::istringstream in(words);
    for (std::string word; in >> word;)
      if (flags.find(" " + word + " ") == std::string::npos) return false;
    return true;
  };
  const bool v3 = all("avx2 fma bmi1 bmi2 movbe f16c abm");
  const bool v4 = v3 && all("avx512f avx512bw avx512cd avx512dq avx512vl");
  const CpuInfo cpu = detect_cpu();
  EXPECT_EQ(cpu.best, v4 ? Isa::v4 : v3 ? Isa::v3 : Isa::baseline) << describe(cpu);
  EXPECT_EQ(cpu.avx512_bf16, v4 && all("avx512_bf16"));
  if (!all("amx_tile amx_bf16")) {
    EXPECT_FALSE(cpu.amx_bf16);
  }
  EXPECT_FALSE(cpu.brand.empty());
}

}  // namespace
}  // namespace glint
