#include "glint/kernels/gates.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/range.h"

namespace glint {
namespace {

template <class G>
constexpr GateInfo info() {
  return {G::text, G::code, &G::value, &G::slope};
}

constexpr GateInfo kTable[] = {
#define GLINT_GATE_INFO(G) info<G>(),
    GLINT_GATES(GLINT_GATE_INFO)
#undef GLINT_GATE_INFO
};
constexpr GateInfo kPlain = info<QuadraticShrink>();

bool has_alias(const GateText& text, std::string_view name) {
  const std::vector<std::string_view> all = gate_aliases(text);
  return std::find(all.begin(), all.end(), name) != all.end();
}

}  // namespace

std::span<const GateInfo> gate_table() { return kTable; }
const GateInfo& gate_info(GateKind kind) { return kTable[static_cast<int>(kind)]; }
const GateInfo& plain_activation() { return kPlain; }

std::vector<std::string_view> gate_aliases(const GateText& text) {
  std::vector<std::string_view> all;
  for (size_t at = 0; at < text.aliases.size();) {
    const size_t end = std::min(text.aliases.find(' ', at), text.aliases.size());
    all.push_back(text.aliases.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

std::vector<std::string> gate_names() {
  std::vector<std::string> names;
  for (const GateInfo& g : kTable) names.emplace_back(g.text.name);
  return names;
}

GateKind parse_gate(std::string_view name) {
  for (int i = 0; i < kGateCount; i++)
    if (kTable[i].text.name == name || has_alias(kTable[i].text, name)) return static_cast<GateKind>(i);
  throw Error({.code = ErrorCode::usage,
               .what = "unknown gate '" + std::string(name) + "'",
               .where = "gate",
               .expected = suggest(name, gate_names()),
               .hint = "`gates()` lists them"});
}

void check(const GateParams& g) {
  if (!std::isfinite(g.c) || std::fabs(g.c) > 1e6) refuse_value("c", g.c, -1e6, 1e6);
  if (!(g.lambda >= 0) || g.lambda > 1e6) refuse_value("lambda", g.lambda, 0, 1e6);
  if (!(g.p > 0) || g.p > 1e3) refuse_value("p", g.p, kAboveZero, 1e3);
}

}  // namespace glint
