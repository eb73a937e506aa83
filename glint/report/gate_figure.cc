#include "glint/report/gate_figure.h"

#include <functional>

#include "glint/base/text.h"

namespace glint {
namespace {

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
