#include "glint/report/gate_table.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/text.h"

namespace glint {
namespace {

const char* parity_name(Parity parity) {
  static constexpr const char* kNames[] = {"odd", "half-linear", "other"};
  return kNames[static_cast<size_t>(parity)];
}

// `before` NAME `between` CODE `after`, one line per gate.
std::string lines(const std::string& before, const std::string& between, const std::string& after) {
  std::string text;
  for (const GateInfo& gate : gate_table())
    text += before + std::string(gate.text.name) + between + std::string(gate.code) + after;
  return text;
}

constexpr int kHalf = 200;          // points per side
constexpr double kPerUnit = 50;     // so x runs from -4 to 4
constexpr double kJustLeft = 1e-9;  // of the jump: far less than a pixel

std::vector<Point> sample(const std::function<double(double)>& f, bool jumps) {
  std::vector<Point> points;
  for (int i = -kHalf; i <= kHalf; i++) {
    if (i == 0 && jumps) {
      points.push_back({-kJustLeft, f(-kJustLeft)});
      points.push_back({0, std::numeric_limits<double>::quiet_NaN()});
    }
    points.push_back({i / kPerUnit, f(i / kPerUnit)});
  }
  return points;
}

}  // namespace

nlohmann::ordered_json gate_json(const GateInfo& gate) {
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  const GateParams standard;
  if (gate.text.has_params) options = {{"c", standard.c}, {"lambda", standard.lambda}, {"p", standard.p}};
  return {{"name", gate.text.name},
          {"title", gate.text.title},
          {"aliases", gate_aliases(gate.text)},
          {"value", gate.text.value},
          {"derivative", gate.text.derivative},
          {"code", gate.code},
          {"parity", parity_name(gate.text.parity)},
          {"glu", gate.text.glu},
          {"options", options}};
}

std::string gates_javascript(std::string_view source) {
  constexpr std::string_view kPlace = "  // {{gates}}\n";
  const size_t at = source.find(kPlace);
  if (at == source.npos)
    throw Error({.code = ErrorCode::failure, .what = "web/gates.js lacks the place for its table"});
  return std::string(source.substr(0, at)) + lines("  \"", "\": (h, { c, lambda: lam, p }) => ", ",\n") +
         std::string(source.substr(at + kPlace.size()));
}

std::string gates_python() {
  return R"PYTHON(def sign(x):
    return torch.where(x < 0, -torch.ones_like(x), torch.ones_like(x))  # +1 at 0


def abs(x):
    return sign(x) * x  # torch.abs has slope 0 at 0, this the one from the right


def shrink(t, p):
    """(1 + t^p)^(1/p) for t >= 0, without overflow. Where, not clamp: at 1 clamp counts the slope twice."""
    one = torch.ones_like(t)
    more, less = torch.where(t < 1, one, t), torch.where(t < 1, t, one)
    return more * (1 + (less / more) ** p) ** (1 / p)


erfc, relu, sigmoid = torch.special.erfc, torch.relu, torch.sigmoid

GATES = {
)PYTHON" +
         lines("    \"", "\": lambda h, c, lam, p: ", ",\n") + "}\n";
}

Chart gate_figure(const GateParams& sqs) {
  const auto gate = [&](GateKind kind) {
    return [&info = gate_info(kind), sqs](double x) { return info.value(x, sqs); };
  };
  const auto shrink = gate(GateKind::Sqs);
  Chart chart;
  chart.title = "Gates; SQS with c = " + number_text(sqs.c) + ", \xce\xbb = " + number_text(sqs.lambda) +
                ", p = " + number_text(sqs.p);
  chart.x = {.label = "x"};
  chart.y = {.label = "f(x)"};
  chart.series = {{.name = "ReLU",
                   .points = sample(gate(GateKind::Relu), false),
                   .color = colors::kBlack,
                   .stroke = Stroke::dotted},
                  {.name = "GELU",
                   .points = sample(gate(GateKind::Gelu), false),
                   .color = colors::kGreen,
                   .stroke = Stroke::dashed},
                  {.name = "Swish",
                   .points = sample(gate(GateKind::Silu), false),
                   .color = colors::kOrange,
                   .stroke = Stroke::dash_dot},
                  {.name = "SQS", .points = sample(shrink, sqs.c != 0), .color = colors::kBlue, .width = 2.6},
                  {.name = "x \xc2\xb7 SQS",
                   .points = sample([&](double x) { return x * shrink(x); }, false),
                   .color = colors::kVermilion}};
  if (sqs.c != 0) {
    chart.series.push_back({.name = "SQS, limit from the left",
                            .points = {{0, sqs.c}},
                            .color = colors::kBlue,
                            .stroke = Stroke::none,
                            .marker = Marker::open_circle,
                            .in_legend = false});
    chart.series.push_back({.name = "SQS, value at 0",
                            .points = {{0, shrink(0)}},
                            .color = colors::kBlue,
                            .stroke = Stroke::none,
                            .marker = Marker::circle,
                            .in_legend = false});
  }
  return chart;
}

}  // namespace glint
