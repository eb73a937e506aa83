// The sections about training: table 1, figure 3, depth, the stories.
#include <algorithm>
#include <cmath>
#include <map>

#include "glint/base/statistics.h"
#include "glint/kernels/gates.h"
#include "glint/paper/efficiency.h"
#include "glint/paper/measure.h"
#include "glint/paper/reproduction_tables.h"
#include "glint/paper/write.h"

namespace glint {
namespace {

std::vector<TaskRuns> image_tasks(const Measured& m) {
  std::vector<TaskRuns> tasks;
  for (const TaskRuns& t : m.tasks)
    if (!t.text && t.norm == "none") tasks.push_back(t);
  return tasks;
}

std::string counted(size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

// What the paper's two columns cannot be.
std::string paper_columns() {
  double low = INFINITY, high = -INFINITY;
  for (const PaperRow& row : paper_table1())
    if (row.data == "stories")
      for (const PaperCell& cell : row.at) {
        const double gap = std::log(cell.metric) - cell.loss;
        low = std::min(low, gap), high = std::max(high, gap);
      }
  return "The paper's perplexities are not exp of its losses: the logarithm of a perplexity lies " +
         fixed_text(low, 2) + " to " + fixed_text(high, 2) +
         " above the loss beside it. Most likely its losses are those of training and its perplexities those "
         "of validation.";
}

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

void write_table1(const Measured& m, ReportSection& section) {
  const std::vector<TaskRuns>& tasks = m.tasks;
  if (tasks.empty()) return;
  for (const TaskRuns& t : tasks)
    section.blocks.push_back(
        Paragraph{std::string(data_title(t.data)) + (t.norm == "none" ? "" : ", " + t.norm + " norm") + ": " +
                  std::to_string(t.train) + (t.text ? " training stories, " : " training images, ") +
                  std::to_string(t.test) + (t.text ? " for validation; " : " for testing; ") +
                  counted(t.epochs, "epoch") + ", " + counted(t.steps, "step") + "." +
                  (t.smaller.empty() ? "" : " Less than the paper's experiment: " + t.smaller + ".")});
  section.blocks.push_back(table1(tasks));
  std::string failed;
  for (const MeasuredRun& run : m.runs)
    if (run.failed()) failed += (failed.empty() ? "" : ", ") + run.path;
  if (!failed.empty())
    section.blocks.push_back(
        Paragraph{"Runs whose numbers were no longer finite, and which are missing in every table: " + failed + "."});
  section.blocks.push_back(
      Paragraph{"**Better or worse?** The same seed gives all gates the same start, order and noise, so the "
                "difference is taken seed by seed."});
  section.blocks.push_back(paired_table(tasks));
}

void write_figure3(const Measured& m, ReportSection& section) {
  for (const TaskRuns& task : image_tasks(m)) {
    const std::string n = counted(task.gates.front().runs.size(), "seed") + ": mean, band of one standard deviation.";
    section.blocks.push_back(report_figure("figure3-" + task.data + "-loss",
                                    std::string(data_title(task.data)) + ", test loss (log) over steps, " + n,
                                    loss_figure(task)));
    section.blocks.push_back(report_figure("figure3-" + task.data + "-accuracy",
                                    std::string(data_title(task.data)) + ", test accuracy over steps (log), " + n,
                                    metric_figure(task)));
  }
  if (image_tasks(m).empty()) return;
  section.blocks.push_back(milestone_table(image_tasks(m)));
  section.blocks.push_back(efficiency_table(image_tasks(m)));
}

void write_depth(const Measured& m, ReportSection& section) {
  if (m.depth.empty()) return;
  size_t stuck = 0, all = 0;
  for (const DepthPoint& p : m.depth)
    for (const double loss : p.norm == "none" ? p.loss : std::vector<double>{}) {
      const double guess = std::log(static_cast<double>(p.classes));
      stuck += std::fabs(loss - guess) < 0.01, all++;
    }
  section.blocks.push_back(Paragraph{
      "The recipe of section 4.2 with other numbers of layers and " + counted(m.depth.front().epochs, "epoch") +
      ", no residual and no norm, as in the paper's models. A stack of n bilinear layers is a "
      "polynomial of degree 2^n in its input, so that with depth its numbers vanish or grow faster "
      "and faster. Of " +
      counted(all, "run") + " " + std::to_string(stuck) +
      " ended with the loss of a guess: there the signal had vanished, and training did not begin "
      "in these epochs."});
  for (const std::string& data : m.images)
    section.blocks.push_back(report_figure("depth-" + data,
                                           std::string(data_title(data)) + ": mean and standard deviation.",
                                           depth_figure(m.depth, data)));
  section.blocks.push_back(depth_table(m.depth));
}

void write_norm(const Measured& m, ReportSection& section) {
  const bool any = std::ranges::any_of(m.tasks, [](const TaskRuns& t) { return t.norm != "none"; });
  if (!any) return;
  section.blocks.push_back(
      Paragraph{"The paper's models have no norm. Here every GLU layer reads its input through an RMS norm; "
                "everything else is as in table 1 and in the depth study. A norm keeps the numbers of a deep "
                "bilinear stack from vanishing or growing, which is a part of what SQS is made for."});
  if (m.what != "all") {  // in the whole report they stand in table 1 and in the section about depth
    section.blocks.push_back(table1(m.tasks));
    section.blocks.push_back(paired_table(m.tasks));
    if (!m.depth.empty()) section.blocks.push_back(depth_table(m.depth));
  }
  for (const std::string& data : m.images)
    if (const Chart chart = depth_figure(m.depth, data, "rms"); !chart.series.empty())
      section.blocks.push_back(report_figure(
          "depth-rms-" + data,
          std::string(data_title(data)) + " with an RMS norm before every layer: mean and standard deviation.", chart));
}

void write_stories(const Measured& m, ReportSection& section) {
  const TaskRuns* task = m.task(m.stories);
  if (!task) return;
  section.blocks.push_back(Paragraph{"Trained on " + std::to_string(task->train) + " stories" +
                                     (task->data == "tales" ? " of the built-in tales" : "") + ", validated on " +
                                     std::to_string(task->test) + " others; the paper has " +
                                     std::to_string(kPaperStories) + "."});
  section.blocks.push_back(story_table(*task));
  if (paper_row(task->data, "sqs")) section.blocks.push_back(Paragraph{paper_columns()});
  section.blocks.push_back(report_figure("stories-loss", "Validation loss (log) over steps.", loss_figure(*task)));
  section.blocks.push_back(report_figure("stories-perplexity", "Perplexity over steps (log).", metric_figure(*task)));
  section.blocks.push_back(Paragraph{"One story of each gate, seed 0, temperature " +
                                     fixed_text(kSampleTemperature, 1) + ", as it came; the prompt is \"" +
                                     kSamplePrompt + "\". The paper cleans its samples by hand."});
  for (const StorySample& sample : m.samples)
    section.blocks.push_back(Quotation{std::string(gate_title(sample.gate)), sample.text});
}

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
