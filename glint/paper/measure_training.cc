// Table 1, figure 3, the stories and depth: what the metrics of finished runs say, and what language models
// write; and the timing table of appendix C.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/utf8.h"
#include "glint/base/version.h"
#include "glint/lab/models/generate.h"
#include "glint/lab/models/run.h"
#include "glint/paper/measure.h"
#include "glint/paper/reproduction_tables.h"
#include "glint/train/run_file.h"
#include "glint/train/timing.h"

namespace glint {
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
    bad_file(directory + "/metrics.jsonl", "the metrics of a finished run are not complete",
             (count ? std::to_string(count) + " lines, " : std::string()) + "the last of step " + std::to_string(steps),
             "remove " + directory + "; the same command trains it again");
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

namespace {

// The finished runs of one group.
TaskRuns curves_of(const Measuring& m, const std::string& group, const std::string& data) {
  TaskRuns task{.data = data};
  for (const std::string_view gate : kPaperGates) {
    GateRuns runs{.gate = std::string(gate), .runs = {}};
    for (const PlannedRun* run : m.finished(group, gate)) {
      RunCurve curve = curve_of(m.directory(*run), run->options);
      task.text = run->options.text;
      task.epochs = run->options.epochs;
      task.steps = curve.points.back().step;
      runs.runs.push_back(std::move(curve));
    }
    std::sort(runs.runs.begin(), runs.runs.end(), [](const RunCurve& a, const RunCurve& b) { return a.seed < b.seed; });
    if (!runs.runs.empty()) task.gates.push_back(std::move(runs));
  }
  return task;
}

std::vector<Gate> paper_gates() {
  std::vector<Gate> gates;
  for (const std::string_view gate : kPaperGates) gates.push_back({parse_gate(gate), {}});
  return gates;
}

std::vector<TimingShape> shapes(const PlanSetup& setup) {
  if (!setup.quick) return paper_timing_shapes();
  return {{256, 256, 256}, {256, 1024, 1024}, {1024, 512, 512}};
}

// What makes two measurements the same: times of another machine are never shown as this one's.
Json identity(const Measuring& m) {
  return {{"version", kVersion},
          {"cpu", describe(m.engine.cpu())},
          {"isa", name(m.engine.isa())},
          {"precision", name(m.engine.precision())},
          {"threads", m.engine.pool().size()},
          {"shapes", shapes(m.plan.setup).size()}};
}

std::vector<TimedGate> time_all(const Measuring& m) {
  const PlanSetup& setup = m.plan.setup;
  GateTimingOptions options{shapes(setup), paper_gates(), setup.quick ? size_t{5} : size_t{0}, false};
  std::vector<TimedGate> times;
  const auto show = [&](size_t done, size_t total, const TimingShape& s) {
    m.hooks.tell({.label = "timing",
                  .done = done,
                  .total = total,
                  .unit = "runs",
                  .detail = "batch " + std::to_string(s.batch) + ", width " + std::to_string(s.d_in)});
    m.check_stop("timing");
  };
  for (const GateTiming& t : time_gates(m.engine.compute(), options, show))
    times.push_back({t.shape.batch, t.shape.d_in,
                     t.products ? "products" : std::string(gate_info(t.gate.kind).text.name), t.median_ms, t.low_ms,
                     t.high_ms, t.repeats});
  return times;
}

Json to_json(const TimedGate& t) {
  return {{"batch", t.batch},   {"width", t.width},     {"gate", t.gate},      {"median_ms", t.median_ms},
          {"low_ms", t.low_ms}, {"high_ms", t.high_ms}, {"repeats", t.repeats}};
}

std::vector<TimedGate> times_of(const JsonFields& fields, const std::string& path) {
  std::vector<TimedGate> times;
  for (const Json& row : fields.array("times")) {
    const JsonFields f(row, path, "times");
    times.push_back({f.required<uint64_t>("batch"), f.required<uint64_t>("width"), f.required<std::string>("gate"),
                     f.required<double>("median_ms"), f.required<double>("low_ms"), f.required<double>("high_ms"),
                     f.required<uint64_t>("repeats")});
  }
  return times;
}

std::vector<TimedGate> stored(const std::string& path, const Json& who) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const Json file = read_json(path);
  const JsonFields fields(file, path);
  return fields.has("identity") && file["identity"] == who ? times_of(fields, path) : std::vector<TimedGate>();
}

}  // namespace

void read_gpu_timing(const std::string& folder, Measured& measured) {
  const std::string path = folder + "/" + kGpuTiming;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const Json file = read_json(path);
  const JsonFields fields(file, path);
  if (fields.required<std::string>("schema") != "glint-gpu-timing/1")
    fields.fail("schema", "is another", "glint-gpu-timing/1");
  if (fields.required<bool>("dry")) fields.fail("dry", "is true: a dry run has no times", "a run on a GPU");
  measured.gpu = fields.required<std::string>("device");
  measured.gpu_times = times_of(fields, path);
}

void measure_images(Measuring& m) {
  for (const std::string& data : m.plan.setup.images)
    for (const std::string norm : {"none", "rms"}) {
      if (m.measured.task(data, norm)) continue;
      TaskRuns task = curves_of(m, group_42(data, norm), data);
      if (task.gates.empty()) continue;
      const auto images = m.data.images(data);
      task.train = images->train.count(), task.test = images->test.count();
      task.smaller = smaller_images(m.plan.setup, data);
      task.norm = norm;
      m.measured.tasks.push_back(std::move(task));
    }
}

void measure_stories(Measuring& m) {
  const PlanSetup& setup = m.plan.setup;
  const std::string key = stories_key(setup);
  if (m.measured.task(key)) return;
  TaskRuns task = curves_of(m, group_stories(setup), key);
  if (task.gates.empty()) return;
  const auto text = m.data.text(setup.stories);
  task.train = text->train.stories(), task.test = text->valid.stories();
  if (!setup.all_stories)
    task.smaller = std::to_string(task.train) + " stories, where the paper has " + std::to_string(kPaperStories) +
                   ", and smaller batches";
  if (setup.quick) task.smaller = "a small model and few epochs";
  if (key == kTales) task.smaller = "the built-in tales, not TinyStories";
  m.measured.tasks.push_back(std::move(task));
}

void measure_samples(Measuring& m) {
  if (!m.measured.samples.empty()) return;
  for (const std::string_view gate : kPaperGates)
    for (const PlannedRun* run : m.finished(group_stories(m.plan.setup), gate)) {
      if (run->options.seed != 0) continue;
      GenerateRequest request{.prompt = kSamplePrompt, .sampling = {.temperature = kSampleTemperature}};
      const GenerateResult result =
          generate_stories(m.engine, *open_language_run(m.engine, {.run = m.directory(*run)}), request);
      m.check_stop("writing stories");
      const GeneratedStory& story = result.stories.front();
      m.measured.samples.push_back({std::string(gate), printable(story.text + (story.ended ? "" : " \xe2\x80\xa6"))});
    }
}

void measure_depth(Measuring& m) {
  if (!m.measured.depth.empty()) return;
  for (const std::string& data : m.plan.setup.images)
    for (const std::string norm : {"none", "rms"})
      for (const char* gate : {"sqs", "identity", "relu", "gelu", "silu"})
        for (const uint64_t layers : depths()) {
          const std::string group = group_depth(data, layers, norm);
          DepthPoint point{.data = data, .gate = gate, .layers = layers, .failed = m.failed(group, gate)};
          point.norm = norm;
          for (const PlannedRun& run : m.plan.runs)
            if (run.group == group) point.epochs = run.options.epochs;
          for (const PlannedRun* run : m.finished(group, gate)) {
            const RunCurve curve = curve_of(m.directory(*run), run->options);
            point.accuracy.push_back(curve.points.back().metric);
            point.loss.push_back(curve.points.back().loss);
          }
          if (point.accuracy.empty() && point.failed == 0) continue;
          point.classes = m.data.images(data)->test.classes;
          m.measured.depth.push_back(std::move(point));
        }
}

void measure_timing(Measuring& m) {
  const std::string path = m.out + "/timing.json";
  const Json who = identity(m);
  std::vector<TimedGate> times = stored(path, who);
  if (times.empty()) {
    times = time_all(m);
    Json file = {{"identity", who}, {"times", Json::array()}};
    for (const TimedGate& t : times) file["times"].push_back(to_json(t));
    write_atomic(m.engine.files(), path, file.dump(1) + "\n");
  }
  m.measured.timing = timing_numbers(times);
  m.measured.times = std::move(times);
}

}  // namespace glint
