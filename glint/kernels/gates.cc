#include "glint/kernels/gates.h"

#include "glint/base/error.h"
#include "glint/base/range.h"
#include "glint/base/text.h"

namespace glint {
namespace {

template <class G>
constexpr GateInfo info() {
  return {G::text, &G::value, &G::slope};
}

constexpr GateInfo kTable[] = {
#define GLINT_GATE_INFO(G) info<G>(),
    GLINT_GATES(GLINT_GATE_INFO)
#undef GLINT_GATE_INFO
};
constexpr GateInfo kPlain = info<QuadraticShrink>();

[[noreturn]] void outside(const char* parameter, double value, double low, double high) {
  throw Error({.code = ErrorCode::usage,
               .what = "`" + std::string(parameter) + "` = " + number_text(value) + " is out of range",
               .where = parameter,
               .expected = range_text(low, high)});
}

}  // namespace

std::span<const GateInfo> gate_table() { return kTable; }
const GateInfo& gate_info(GateKind kind) { return kTable[static_cast<int>(kind)]; }
const GateInfo& plain_activation() { return kPlain; }

std::vector<std::string> gate_names() {
  std::vector<std::string> names;
  for (const GateInfo& g : kTable) names.emplace_back(g.text.name);
  return names;
}

GateKind parse_gate(std::string_view name) {
  if (name == "none" || name == "bilinear") name = Identity::text.name;
  if (name == "swiglu" || name == "swish") name = Silu::text.name;
  for (int i = 0; i < kGateCount; i++)
    if (kTable[i].text.name == name) return static_cast<GateKind>(i);
  throw Error({.code = ErrorCode::usage,
               .what = "unknown gate '" + std::string(name) + "'",
               .where = "gate",
               .expected = suggest(name, gate_names()),
               .hint = "`gates()` lists them"});
}

void check(const GateParams& g) {
  if (!std::isfinite(g.c) || std::fabs(g.c) > 1e6) outside("c", g.c, -1e6, 1e6);
  if (!(g.lambda >= 0) || g.lambda > 1e6) outside("lambda", g.lambda, 0, 1e6);
  if (!(g.p > 0) || g.p > 1e3) outside("p", g.p, kAboveZero, 1e3);
}

}  // namespace glint
