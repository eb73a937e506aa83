#include "glint/kernels/gates.h"

#include <algorithm>
#include <charconv>

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

Gate parse_gate_word(std::string_view word) {
  const size_t colon = std::min(word.find(':'), word.size());
  Gate gate{parse_gate(word.substr(0, colon)), {}};
  const auto refuse = [&](std::string_view part) {
    throw Error({.code = ErrorCode::usage,
                 .what = "'" + std::string(part) + "' in '" + std::string(word) + "'",
                 .where = "gate",
                 .expected = "options of a gate that has them: sqs:lambda=0.1,c=0.01,p=1"});
  };
  for (size_t at = colon; at < word.size();) {
    const size_t end = std::min(word.find(',', at + 1), word.size());
    const std::string_view part = word.substr(at + 1, end - at - 1);
    const size_t equal = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equal);
    double* value = name == "c"        ? &gate.params.c
                    : name == "lambda" ? &gate.params.lambda
                    : name == "p"      ? &gate.params.p
                                       : nullptr;
    if (!value || equal == part.size() || !gate_info(gate.kind).text.has_params) refuse(part);
    const auto [last, error] = std::from_chars(part.data() + equal + 1, part.data() + part.size(), *value);
    if (error != std::errc() || last != part.data() + part.size()) refuse(part);
    at = end;
  }
  check(gate.params);
  return gate;
}

std::string gate_word(const Gate& gate) {
  std::string word(gate_info(gate.kind).text.name);
  if (!gate_info(gate.kind).text.has_params) return word;
  const auto add = [&](const char* name, double value) {
    char digits[32];
    word += name + std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  add(":lambda=", gate.params.lambda);
  add(",c=", gate.params.c);
  add(",p=", gate.params.p);
  return word;
}

}  // namespace glint
