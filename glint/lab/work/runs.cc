#include "glint/lab/work/runs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/statistics.h"
#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/io/json.h"
#include "glint/lab/work/result_files.h"
#include "glint/train/checkpoint.h"
#include "glint/train/options.h"
#include "glint/train/run_dir.h"
#include "glint/train/run_file.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr int kDeepest = 8;  // folders below the one that was named

std::string text_of(const Json& value) {
  if (value.is_string()) return printable(value.get<std::string>());
  return value.is_number_float() ? number_text(value.get<double>()) : value.dump();
}

void set_options(RunSummary& run, const Json& json) {
  TrainOptions options;
  try {
    options = options_from_json(json, run.directory);
  } catch (const Error&) {  // of another version: what is there is shown as it is
    for (const auto& [key, value] : json.items()) run.options.emplace_back(key, text_of(value));
    return;
  }
  run.text = options.text;
  const Json all = options_to_json(options);
  for (const Field& spec : fields_of(options))
    if (all.contains(spec.name) && means_something(spec.name, options))
      run.options.emplace_back(spec.name, text_of(all[spec.name]));
}

void set_result(RunSummary& run, const Json& line) {
  run.test_loss = line.value("test_loss", kUnknown);
  run.test_accuracy = line.value("test_accuracy", kUnknown);
  run.train_loss = line.value("train_loss", kUnknown);
  run.seconds = line.value("seconds", kUnknown);
}

// Weights of glint's own models without run.json.
bool is_imported(const std::string& folder) {
  if (!exists(folder + "/config.json") || !exists(folder + "/" + kWeightsFile)) return false;
  try {
    model_kind(folder);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// What config.json says, by the names of options.
void set_model(RunSummary& run) {
  run.state = RunState::imported;
  run.text = model_kind(run.directory) == ModelKind::language;
  const Json json = read_json(run.directory + "/config.json");
  TrainOptions options;
  options.text = run.text;
  for (const Field& spec : fields_of(options)) {
    std::string key = spec.name;
    std::ranges::replace(key, '-', '_');
    if (json.contains(key) && json[key].is_primitive() && json[key] != "")
      run.options.emplace_back(spec.name, text_of(json[key]));
  }
}

void add_runs(const std::string& folder, int depth, std::vector<std::string>& found) {
  if (exists(folder + "/" + kRunFile) || is_imported(folder)) {
    found.push_back(folder);
    return;
  }
  if (depth == 0) return;
  std::error_code ignored;
  std::vector<std::string> inside;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, ignored))
    if (fs::is_directory(e.symlink_status(ignored))) inside.push_back(e.path().string());
  std::ranges::sort(inside);
  for (const std::string& path : inside) add_runs(path, depth - 1, found);
}

// Results that filters and sorting know beside the options.
const std::vector<std::string>& result_keys() {
  static const std::vector<std::string> keys = {"run", "state", "loss", "accuracy", "step", "train-loss", "time"};
  return keys;
}

// What a run has under a name, as text; nothing when the run has no such option.
std::string value_of(const RunSummary& run, const std::string& key, bool& there) {
  there = true;
  if (key == "run") return run.directory;
  if (key == "state") return std::string(name(run.state));
  if (key == "loss") return number_text(run.test_loss);
  if (key == "accuracy") return number_text(run.test_accuracy);
  if (key == "train-loss") return number_text(run.train_loss);
  if (key == "time") return number_text(run.seconds);
  if (key == "step") return std::to_string(run.step);
  const std::string* option = run.option(key);
  there = option != nullptr;
  return option ? *option : "";
}

bool number(const std::string& text, double& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && !std::isnan(value);
}

// Numbers as numbers, everything else as text; what is not known comes last.
int compare(const std::string& a, const std::string& b) {
  double x = 0, y = 0;
  const bool first = number(a, x), second = number(b, y);
  if (first && second) return x < y ? -1 : x > y;
  if (first != second) return first ? -1 : 1;
  return a < b ? -1 : a > b;
}

struct Filter {
  std::string key, sign, value;
};

void check_key(const std::string& key, const std::string& where) {
  TrainOptions scratch;
  std::vector<std::string> names = result_keys();
  for (const Field& spec : fields_of(scratch)) names.push_back(spec.name);
  if (std::ranges::find(names, key) == names.end())
    bad_argument(where, "runs have nothing that is called '" + key + "'", suggest(key, names));
}

Filter parse_filter(const std::string& text) {
  const size_t at = text.find_first_of("=!<>");
  if (at == text.npos || at == 0)
    bad_argument("where", "cannot read the filter '" + text + "'",
                 "NAME=VALUE, with = != < <= > or >=", "`where=gate=sqs`");
  const size_t length = text.substr(at, 2) == "!=" || text.substr(at, 2) == "<=" || text.substr(at, 2) == ">=" ? 2 : 1;
  Filter f{text.substr(0, at), text.substr(at, length), text.substr(at + length)};
  if (f.sign == "!" || f.value.empty())
    bad_argument("where", "cannot read the filter '" + text + "'", "NAME=VALUE, with = != < <= > or >=");
  check_key(f.key, "where");
  if (f.key == "gate") f.value = gate_info(parse_gate(f.value)).text.name;
  return f;
}

bool passes(const RunSummary& run, const Filter& f) {
  bool there = false;
  const std::string value = value_of(run, f.key, there);
  if (!there) return false;
  const int order = compare(value, f.value);
  if (f.sign == "=") return order == 0;
  if (f.sign == "!=") return order != 0;
  double known = 0;
  if (!number(value, known)) return false;
  return f.sign == "<" ? order < 0 : f.sign == "<=" ? order <= 0 : f.sign == ">" ? order > 0 : order >= 0;
}

void sort_runs(std::vector<RunSummary>& runs, std::string key) {
  if (key.empty()) return;
  const bool down = key.starts_with('-');
  if (down) key.erase(0, 1);
  check_key(key, "sort");
  std::ranges::stable_sort(runs, [&](const RunSummary& a, const RunSummary& b) {
    bool has_a = false, has_b = false;
    const std::string x = value_of(a, key, has_a), y = value_of(b, key, has_b);
    if (has_a != has_b) return has_a;
    double unused = 0;
    if (number(x, unused) != number(y, unused)) return number(x, unused);  // unknown ones last, either way
    return down ? compare(x, y) > 0 : compare(x, y) < 0;
  });
}

std::vector<std::string> differing_options(const std::vector<RunSummary>& runs) {
  TrainOptions scratch;
  std::vector<std::string> out;
  for (const Field& spec : fields_of(scratch)) {
    const std::string* first = nullptr;
    bool differs = false;
    for (const RunSummary& run : runs) {
      const std::string* value = run.option(spec.name);
      if (!value) continue;  // a gate without the option: the gates differ, and that is said
      if (!first) first = value;
      differs = differs || *value != *first;
    }
    if (differs) out.push_back(spec.name);
  }
  return out;
}

// The options that differ, but for the seed.
std::string curve_name(const RunSummary& run, const std::vector<std::string>& differing) {
  std::string out;
  for (const std::string& key : differing) {
    const std::string* value = key == "seed" ? nullptr : run.option(key);
    if (value) out += (out.empty() ? "" : ", ") + (key == "gate" ? *value : key + " " + *value);
  }
  const std::string* gate = run.option("gate");
  return out.empty() && gate ? *gate : out;
}

}  // namespace

std::string_view name(RunState state) {
  static constexpr std::string_view kNames[] = {"finished", "running", "stopped", "diverged", "imported", "damaged"};
  return kNames[static_cast<size_t>(state)];
}

const std::string* RunSummary::option(std::string_view name) const {
  for (const auto& [key, value] : options)
    if (key == name) return &value;
  return nullptr;
}

std::string RunSummary::state_text() const {
  const std::string word(name(state));
  if (state == RunState::finished || state == RunState::imported) return word;
  if (state == RunState::damaged) return word + ": " + problem;
  return word + (state == RunState::running ? ", step " : " at step ") + std::to_string(step) + " of " +
         std::to_string(steps);
}

RunSummary summarize_run(const std::string& directory, bool quick) {
  RunSummary run{.directory = directory};
  run.test_loss = run.test_accuracy = run.train_loss = run.seconds = kUnknown;
  try {
    if (!exists(directory + "/" + kRunFile)) {
      set_model(run);
      return run;
    }
    const RunFile file = read_run_file(directory);
    set_options(run, file.json["identity"]["options"]);
    run.steps = file.json.value("steps", uint64_t{0});
    const Metrics metrics = scan_metrics(directory);
    if (!metrics.lines.empty()) {
      set_result(run, metrics.lines.back());
      run.step = metrics.lines.back()["step"].get<uint64_t>();
    }
    if (file.finished()) {
      run.state = RunState::finished;
      run.step = run.steps;
      if (file.json.contains("result")) set_result(run, file.json["result"]);
      std::string wrong = quick ? "" : damage(directory, file.json, kWeightsFile);
      if (quick && !exists(directory + "/" + kWeightsFile)) wrong = "is missing";
      if (!wrong.empty()) run.problem = std::string(kWeightsFile) + " " + wrong;
    } else if (is_training(directory)) {
      run.state = RunState::running;
    } else {
      run.state = file.json["state"] == "diverged" ? RunState::diverged : RunState::stopped;
      if (run.state == RunState::stopped) run.step = newest_checkpoint_step(directory + "/checkpoints");
    }
    if (metrics.damaged > 0 && run.problem.empty())
      run.problem = std::string(kMetricsFile) + ", " + metrics.first_damaged;
    if (!run.problem.empty()) run.state = RunState::damaged;
  } catch (const Error& e) {
    run.state = RunState::damaged;
    run.problem = e.parts().what;
  }
  return run;
}

std::vector<Field> fields_of(RunsRequest& q) {
  return {Field("folders", q.folders, "Run directories, or folders with runs in them").directory().argument("DIR"),
          Field("where", q.where, "Only runs with NAME=VALUE; also != < <= > >=. May be given several times")
              .shown("CONDITION"),
          Field("sort", q.sort, "By an option or a result; -NAME: the largest first").shown("NAME"),
          Field("figure", q.figure, "Draw the losses over the steps into this .svg file, with .csv and .png").file()};
}

RunsResult list_runs(const Engine& engine, const RunsRequest& request) {
  std::vector<Filter> filters;
  for (const std::string& text : request.where) filters.push_back(parse_filter(text));
  if (!request.sort.empty()) check_key(request.sort.substr(request.sort.starts_with('-')), "sort");
  std::vector<std::string> directories;
  for (std::string folder : request.folders) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    std::error_code ignored;
    const size_t before = directories.size();
    if (fs::is_directory(folder, ignored)) add_runs(folder, kDeepest, directories);
    if (directories.size() == before)
      bad_file(printable(folder),
               fs::exists(folder, ignored) ? "there is no run in this folder" : "there is no such folder",
               "a run directory, or a folder with runs in it");
  }
  RunsResult result;
  for (const std::string& directory : directories) {
    if (std::ranges::find(result.runs, directory, &RunSummary::directory) != result.runs.end()) continue;
    engine.check_stop();
    result.runs.push_back(summarize_run(directory));
  }
  result.found = result.runs.size();
  std::erase_if(result.runs, [&](const RunSummary& run) {
    return !std::ranges::all_of(filters, [&](const Filter& f) { return passes(run, f); });
  });
  sort_runs(result.runs, request.sort);
  result.differing = differing_options(result.runs);
  if (request.figure.empty()) return result;
  const Chart chart = runs_chart(result, result.notes);
  std::string stem = request.figure;
  if (stem.ends_with(".svg")) stem.resize(stem.size() - 4);
  write_figure(engine, stem, figure_of(chart));
  result.figure = stem + ".svg";
  return result;
}

Table runs_table(const RunsResult& result, TableFor reader) {
  const bool person = reader == TableFor::people;
  const std::string none = person ? "-" : "";
  const bool text = std::ranges::any_of(result.runs, &RunSummary::text),
             images = std::ranges::any_of(result.runs, [](const RunSummary&r) { return !r.text; });
  std::vector<Column> columns = {{.header = "run", .text = true}};
  for (const std::string& key : result.differing)
    columns.push_back({.header = key, .align = Align::right, .text = key == "gate" || key == "data"});
  columns.push_back({.header = "state"});
  columns.push_back({.header = text && images ? "loss"
                               : text         ? "validation loss"
                                              : "test loss",
                     .align = Align::right,
                     .key = "test_loss"});
  if (images) columns.push_back({.header = "accuracy %", .align = Align::right, .key = "test_accuracy_percent"});
  columns.push_back({.header = "time", .align = Align::right, .key = "seconds"});
  Table table(columns);
  for (const RunSummary& run : result.runs) {
    std::vector<std::string> cells = {printable(run.directory)};
    for (const std::string& key : result.differing) {
      const std::string* value = run.option(key);
      cells.push_back(value ? *value : none);
    }
    cells.push_back(run.state_text());
    const auto shown = [&](double v, int digits) { return std::isfinite(v) ? fixed_text(v, digits) : none; };
    cells.push_back(shown(run.test_loss, 4));
    if (images) cells.push_back(run.text ? none : shown(100 * run.test_accuracy, 2));
    cells.push_back(person && std::isfinite(run.seconds) ? duration_text(run.seconds) : shown(run.seconds, 3));
    table.add(cells);
  }
  return table;
}

Chart runs_chart(const RunsResult& result, std::vector<std::string>& notes) {
  struct Curve {
    std::string name;
    size_t runs = 0;
    std::map<uint64_t, std::vector<double>> losses;
  };
  std::vector<Curve> curves;
  bool text = true;
  for (const RunSummary& run : result.runs) {
    const Metrics metrics = scan_metrics(run.directory);
    if (metrics.lines.empty()) {
      notes.push_back(printable(run.directory) + " has no evaluations yet, so no curve");
      continue;
    }
    text = text && run.text;
    const std::string name = curve_name(run, result.differing);
    auto curve = std::ranges::find(curves, name, &Curve::name);
    if (curve == curves.end()) curves.push_back({name, 0, {}}), curve = curves.end() - 1;
    curve->runs++;
    for (const Json& line : metrics.lines)
      if (line.contains("test_loss"))
        curve->losses[line["step"].get<uint64_t>()].push_back(line["test_loss"].get<double>());
  }
  if (curves.empty() || curves.size() > kMostCurves)
    bad_argument("figure",
                 curves.empty() ? "none of the runs has an evaluation, so there is no curve to draw"
                                : std::to_string(curves.size()) + " curves are too many for one figure",
                 "1 to " + std::to_string(kMostCurves) + " settings",
                 curves.empty() ? "" : "choose with `where=gate=sqs`");
  Chart chart;
  bool bands = false;
  constexpr Stroke kStrokes[] = {Stroke::solid, Stroke::dashed, Stroke::dotted};
  for (const Curve& curve : curves) {
    Series series{.name = curve.name, .points = {}, .stroke = kStrokes[chart.series.size() / 8]};
    for (const auto& [step, values] : curve.losses) {
      if (values.size() != curve.runs) continue;  // not all of its runs are there
      const MeanAndSd m = mean_and_sd(values);
      Point point{static_cast<double>(step), m.mean};
      if (values.size() > 1) point.lower = m.mean - m.sd, point.upper = m.mean + m.sd, bands = true;
      series.points.push_back(point);
    }
    if (curve.losses.size() == 1) series.marker = Marker::circle;  // a line of one point is not seen
    chart.series.push_back(std::move(series));
  }
  const std::string what = text ? "validation loss" : "test loss";
  chart.title = what + (bands ? ", mean and standard deviation over seeds" : "");
  chart.x = {.label = "step"};
  chart.y = {.label = what, .scale = Scale::log};
  chart.width = 760, chart.height = 480;
  return chart;
}

OrderedJson to_json(const RunsResult& result) {
  OrderedJson j = {{"schema", "glint-runs/1"},
                   {"found", result.found},
                   {"differing", result.differing},
                   {"runs", OrderedJson::array()}};
  for (const RunSummary& run : result.runs) {
    OrderedJson r = {{"run", run.directory}, {"state", name(run.state)}};
    if (!run.problem.empty()) r["problem"] = run.problem;
    r["step"] = run.step, r["steps"] = run.steps;
    r["options"] = OrderedJson::object();
    for (const auto& [key, value] : run.options) r["options"][key] = value;
    r["test_loss"] = number_or_null(run.test_loss);
    r["test_accuracy"] = number_or_null(run.test_accuracy);
    r["train_loss"] = number_or_null(run.train_loss);
    r["seconds"] = number_or_null(run.seconds);
    j["runs"].push_back(std::move(r));
  }
  if (!result.figure.empty()) j["figure"] = result.figure;
  return j;
}

}  // namespace glint
