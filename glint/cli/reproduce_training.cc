// Table 1, figure 3, the stories and depth: what the metrics of finished runs say.
#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/cli/reproduce_lab.h"
#include "glint/report/reproduction_tables.h"
#include "glint/report/training_figure.h"

namespace glint::cli {
namespace {

// Table 1 looks at the first evaluation at or after a quarter of the steps; the trainer has one there.
RunCurve curve_of(const std::string& directory, const TrainOptions& options) {
  RunCurve curve{.seed = options.seed};
  for (const Json& line : read_metrics(directory)) {
    const double loss = line.value("test_loss", 0.0);
    curve.points.push_back({line.value("step", uint64_t{0}), loss,
                            options.text ? std::exp(loss) : line.value("test_accuracy", 0.0),
                            line.value("train_loss", 0.0)});
  }
  // A finished run has an evaluation at its last step; without it the file was cut, and its last line is not
  // the end of training.
  const Json run = read_run_file(directory).json;
  const uint64_t steps = run.value("steps", uint64_t{0}), count = run.value("evaluations", uint64_t{0});
  if (curve.points.size() < count || curve.points.empty() || curve.points.back().step != steps)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the metrics of a finished run are not complete",
                 .where = directory + "/metrics.jsonl",
                 .expected = (count ? std::to_string(count) + " lines, " : std::string()) +
                             "the last of step " + std::to_string(steps),
                 .hint = "remove " + directory + "; the same command trains it again"});
  const double total = static_cast<double>(steps);
  for (size_t c = 0; c < kCheckpoints; c++)
    for (const CurvePoint& p : curve.points)
      if (static_cast<double>(p.step) >= kCheckpointShares[c] * total) {
        curve.at[c] = p;
        break;
      }
  for (size_t i = 0; i < kMilestones.size() && !options.text; i++)
    for (const CurvePoint& p : curve.points)
      if (p.metric >= kMilestones[i]) {
        curve.reached[i] = p.step;
        break;
      }
  return curve;
}

// The finished runs of one group.
TaskRuns collect(const Lab& lab, const std::vector<PlannedRun>& plan, const std::string& group,
                 const std::string& data) {
  TaskRuns task{.data = data};
  for (const std::string_view gate : kPaperGates) {
    GateRuns runs{.gate = std::string(gate), .runs = {}};
    for (const PlannedRun& run : plan) {
      if (run.group != group || run.options.gate != gate || !run_finished(lab.directory(run))) continue;
      RunCurve curve = curve_of(lab.directory(run), run.options);
      task.text = run.options.text;
      task.epochs = run.options.epochs;
      task.steps = curve.points.back().step;
      runs.runs.push_back(std::move(curve));
    }
    std::sort(runs.runs.begin(), runs.runs.end(),
              [](const RunCurve& a, const RunCurve& b) { return a.seed < b.seed; });
    if (!runs.runs.empty()) task.gates.push_back(std::move(runs));
  }
  return task;
}

bool known(const Lab& lab, const std::string& data) { return lab.measured.task(data) != nullptr; }

void collect_images(Lab& lab) {
  const std::vector<PlannedRun> plan = runs_42(lab.setup);
  for (const std::string& data : lab.setup.images) {
    if (known(lab, data)) continue;
    TaskRuns task = collect(lab, plan, group_42(data), data);
    const auto images = lab.data.images(data);
    task.train = images->train.count(), task.test = images->test.count();
    task.smaller = smaller_images(lab.setup, data);
    if (!task.gates.empty()) lab.measured.tasks.push_back(std::move(task));
  }
}

std::vector<TaskRuns> image_tasks(const Lab& lab) {
  std::vector<TaskRuns> tasks;
  for (const TaskRuns& t : lab.measured.tasks)
    if (!t.text) tasks.push_back(t);
  return tasks;
}

ReportFigure figure(const std::string& name, const std::string& caption, const Chart& chart) {
  return {.name = name, .caption = caption, .svg = to_svg(chart), .csv = to_csv(chart)};
}

std::string counted(size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

std::string smaller_images(const PlanSetup& setup, const std::string& data) {
  std::string text;
  if (data != "mnist" && data != "fashion-mnist") text = "not a data set of the paper";
  if (setup.quick) text += (text.empty() ? "" : ", ") + std::string("fewer epochs than the paper");
  return text;
}

void collect_stories(Lab& lab) {
  const std::string key = stories_key(lab.setup);
  if (known(lab, key)) return;
  TaskRuns task = collect(lab, runs_stories(lab.setup), group_stories(lab.setup), key);
  if (task.gates.empty()) return;
  const auto text = lab.data.text(lab.setup.stories);
  task.train = text->train.stories(), task.test = text->valid.stories();
  if (!lab.setup.all_stories)
    task.smaller = std::to_string(task.train) + " stories, where the paper has " +
                   std::to_string(kPaperStories) + ", and smaller batches";
  if (lab.setup.quick) task.smaller = "a small model and one epoch";
  if (key == kTales) task.smaller = "the built-in tales, not TinyStories";
  lab.measured.tasks.push_back(std::move(task));
}

void write_table1(Lab& lab, ReportSection& section) {
  collect_images(lab);
  collect_stories(lab);
  const std::vector<TaskRuns>& tasks = lab.measured.tasks;
  if (tasks.empty()) return;
  for (const TaskRuns& t : tasks)
    section.blocks.push_back(
        Paragraph{std::string(data_title(t.data)) + ": " + std::to_string(t.train) +
                  (t.text ? " training stories, " : " training images, ") + std::to_string(t.test) +
                  (t.text ? " for validation; " : " for testing; ") + counted(t.epochs, "epoch") + ", " +
                  counted(t.steps, "step") + "." +
                  (t.smaller.empty() ? "" : " Less than the paper's experiment: " + t.smaller + ".")});
  section.blocks.push_back(table1(tasks));
  std::string failed;
  for (const PlannedRun& run : lab.plan)
    if (run_failed(lab.directory(run))) failed += (failed.empty() ? "" : ", ") + run.path();
  if (!failed.empty())
    section.blocks.push_back(Paragraph{
        "Runs whose numbers were no longer finite, and which are missing in every table: " + failed + "."});
  section.blocks.push_back(
      Paragraph{"**Better or worse?** The same seed gives all gates the same start, order and noise, so the "
                "difference is taken seed by seed."});
  section.blocks.push_back(paired_table(tasks));
}

void write_figure3(Lab& lab, ReportSection& section) {
  collect_images(lab);
  for (const TaskRuns& task : image_tasks(lab)) {
    const std::string n =
        counted(task.gates.front().runs.size(), "seed") + ": mean, band of one standard deviation.";
    section.blocks.push_back(figure("figure3-" + task.data + "-loss",
                                    std::string(data_title(task.data)) + ", test loss (log) over steps, " + n,
                                    loss_figure(task)));
    section.blocks.push_back(figure(
        "figure3-" + task.data + "-accuracy",
        std::string(data_title(task.data)) + ", test accuracy over steps (log), " + n, metric_figure(task)));
  }
  if (!image_tasks(lab).empty()) section.blocks.push_back(milestone_table(image_tasks(lab)));
}

void write_depth(Lab& lab, ReportSection& section) {
  const std::vector<PlannedRun> plan = runs_depth(lab.setup);
  for (const std::string& data : lab.setup.images)
    for (const char* gate : {"sqs", "identity"})
      for (const uint64_t layers : depths()) {
        DepthPoint point{.data = data, .gate = gate, .layers = layers, .accuracy = {}, .loss = {}};
        for (const PlannedRun& run : plan) {
          if (run.group != group_depth(data, layers) || run.options.gate != gate) continue;
          point.failed += run_failed(lab.directory(run));
          if (!run_finished(lab.directory(run))) continue;
          const RunCurve curve = curve_of(lab.directory(run), run.options);
          point.accuracy.push_back(curve.points.back().metric);
          point.loss.push_back(curve.points.back().loss);
        }
        if (!point.accuracy.empty() || point.failed) lab.measured.depth.push_back(point);
      }
  if (lab.measured.depth.empty()) return;
  size_t stuck = 0, all = 0;
  for (const DepthPoint& p : lab.measured.depth)
    for (const double loss : p.loss) {
      const double guess = std::log(static_cast<double>(lab.data.images(p.data)->test.classes));
      stuck += std::fabs(loss - guess) < 0.01, all++;
    }
  section.blocks.push_back(
      Paragraph{"The recipe of section 4.2 with other numbers of layers and " +
                counted(plan.front().options.epochs, "epoch") +
                ", no residual and no norm, as in the paper's models. A stack of n bilinear layers is a "
                "polynomial of degree "
                "2^n in its input, so that with depth its numbers vanish or grow faster and faster. Of " +
                counted(all, "run") + " " + std::to_string(stuck) +
                " ended with the loss of a guess: there the signal had vanished, and training did not begin "
                "in these epochs."});
  for (const std::string& data : lab.setup.images)
    section.blocks.push_back(figure("depth-" + data,
                                    std::string(data_title(data)) + ": mean and standard deviation.",
                                    depth_figure(lab.measured.depth, data)));
  section.blocks.push_back(depth_table(lab.measured.depth));
}

}  // namespace glint::cli
