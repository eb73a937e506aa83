#include "glint/paper/write.h"

#include <algorithm>
#include <map>

#include "glint/base/statistics.h"
#include "glint/kernels/gates.h"

namespace glint {
namespace {

Series curve(const GateRuns& gate, double CurvePoint::*member, uint64_t first_step) {
  std::map<uint64_t, std::vector<double>> at;
  for (const RunCurve& run : gate.runs)
    for (const CurvePoint& p : run.points)
      if (p.step >= first_step) at[p.step].push_back(p.*member);
  Series series = gate_series(gate.gate);
  for (const auto& [step, values] : at) {
    if (values.size() != gate.runs.size()) continue;
    const MeanAndSd m = mean_and_sd(values);
    Point point{static_cast<double>(step), m.mean};
    if (values.size() > 1) point.lower = m.mean - m.sd, point.upper = m.mean + m.sd;
    series.points.push_back(point);
  }
  return series;
}

Chart chart_of(const TaskRuns& task, double CurvePoint::*member, uint64_t first_step) {
  Chart chart;
  for (const GateRuns& gate : task.gates)
    if (!gate.runs.empty()) chart.series.push_back(curve(gate, member, first_step));
  return chart;
}

// By the place of a gate in the table.
struct GateStyle {
  const char* color;
  Stroke stroke;
};
constexpr GateStyle kStyles[] = {{colors::kBlue, Stroke::solid},      {colors::kVermilion, Stroke::solid},
                                 {colors::kBlack, Stroke::dotted},    {colors::kGreen, Stroke::dashed},
                                 {colors::kOrange, Stroke::dash_dot}, {colors::kPurple, Stroke::dashed},
                                 {colors::kSky, Stroke::dash_dot},    {colors::kYellow, Stroke::dotted},
                                 {colors::kPurple, Stroke::solid},    {colors::kVermilion, Stroke::dotted}};

}  // namespace

Series gate_series(std::string_view gate) {
  Series s{.name = std::string(gate_title(gate)), .points = {}};
  const std::vector<std::string> names = gate_names();
  const size_t place = static_cast<size_t>(std::find(names.begin(), names.end(), gate) - names.begin());
  if (place == names.size()) return s;
  const GateStyle& style = kStyles[place % std::size(kStyles)];
  s.color = style.color;
  s.stroke = style.stroke;
  if (place == 0) s.width = 2.6;
  return s;
}

Chart loss_figure(const TaskRuns& task) {
  // The first steps are the same steep fall for all gates and would flatten the rest.
  Chart chart = chart_of(task, &CurvePoint::loss, task.steps / 40);
  const char* what = task.text ? "validation loss" : "test loss";
  chart.title = std::string(data_title(task.data)) + ": " + what;
  chart.x = {.label = "step"};
  chart.y = {.label = what, .scale = Scale::log};
  return chart;
}

Chart metric_figure(const TaskRuns& task) {
  Chart chart = chart_of(task, &CurvePoint::metric, 1);
  const char* what = task.text ? "validation perplexity" : "test accuracy";
  chart.title = std::string(data_title(task.data)) + ": " + what;
  chart.x = {.label = "step", .scale = Scale::log};
  chart.y = {.label = what, .scale = task.text ? Scale::log : Scale::linear};
  return chart;
}

Chart depth_figure(const std::vector<DepthPoint>& points, const std::string& data, const std::string& norm) {
  Chart chart;
  for (const std::string_view gate : kPaperGates) {
    Series series = gate_series(gate);
    series.marker = gate == "sqs" ? Marker::circle : Marker::square;
    for (const DepthPoint& p : points) {
      if (p.data != data || p.norm != norm || p.gate != gate || p.accuracy.empty()) continue;
      const MeanAndSd m = mean_and_sd(p.accuracy);
      Point point{static_cast<double>(p.layers), m.mean};
      if (p.accuracy.size() > 1) point.lower = m.mean - m.sd, point.upper = m.mean + m.sd;
      series.points.push_back(point);
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  chart.title = std::string(data_title(data)) + ": accuracy and depth" + (norm == "none" ? "" : ", " + norm + " norm");
  chart.x = {.label = "GLU layers", .whole = true};
  chart.y = {.label = "test accuracy at the end"};
  return chart;
}

ReportFigure report_figure(const std::string& name, const std::string& caption, const Chart& chart) {
  return {.name = name, .caption = caption, .svg = to_svg(chart), .csv = to_csv(chart)};
}

}  // namespace glint
