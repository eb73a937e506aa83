#include "glint/paper/reproduction_tables.h"

#include <algorithm>
#include <cmath>

#include "glint/base/statistics.h"
#include "glint/paper/columns.h"

namespace glint {
namespace {

std::string signed_text(double v, int decimals) { return (v < 0 ? "" : "+") + fixed_text(v, decimals); }
std::string norm_words(const std::string& norm) { return norm == "none" ? "" : ", " + norm + " norm"; }
std::string task_title(const TaskRuns& task) { return data_title(task.data) + norm_words(task.norm); }
std::string percent_name(size_t checkpoint) { return fixed_text(100 * kCheckpointShares[checkpoint], 0) + " %"; }

struct Best {
  double loss = INFINITY, metric = INFINITY;  // the metric such that lower is better
};

double comparable(const TaskRuns& task, double metric) { return task.text ? metric : -metric; }

std::array<Best, kCheckpoints> best_of(const TaskRuns& task) {
  std::array<Best, kCheckpoints> best;
  for (const GateRuns& g : task.gates)
    for (size_t c = 0; c < kCheckpoints && !g.runs.empty(); c++) {
      best[c].loss = std::min(best[c].loss, mean_and_sd(g.loss(c)).mean);
      best[c].metric = std::min(best[c].metric, comparable(task, mean_and_sd(g.metric(c)).mean));
    }
  return best;
}

// Of the seeds that reached a milestone: the last evaluated step before; 0 when the first had it.
std::vector<double> steps_before(const GateRuns& gate, size_t milestone) {
  std::vector<double> before;
  for (const RunCurve& r : gate.runs) {
    if (!r.reached[milestone]) continue;
    uint64_t last = 0;
    for (const CurvePoint& p : r.points)
      if (p.step < r.reached[milestone]) last = p.step;
    before.push_back(static_cast<double>(last));
  }
  return before;
}

// The evaluated steps of the first run, the many in the middle left out.
std::string grid_text(const TaskRuns& task) {
  constexpr size_t kListed = 14;
  const std::vector<CurvePoint>& points = task.gates.front().runs.front().points;
  std::string text;
  for (size_t i = 0; i < points.size(); i++) {
    const bool left_out = i >= kListed && i + 1 < points.size();
    if (left_out && i > kListed) continue;
    text += (i ? ", " : "") + (left_out ? "\xe2\x80\xa6" : std::to_string(points[i].step));
  }
  return text + " (" + std::to_string(points.size()) + " evaluations)";
}

// One grid a data set, said once where they are the same.
std::string grids_text(std::span<const TaskRuns> tasks) {
  std::vector<std::pair<std::string, std::string>> grids;  // names, steps
  for (const TaskRuns& task : tasks) {
    if (task.text || task.gates.empty() || task.gates.front().runs.empty()) continue;
    const std::string steps = grid_text(task);
    const auto same = std::ranges::find(grids, steps, &std::pair<std::string, std::string>::second);
    if (same != grids.end())
      same->first += " and " + data_title(task.data);
    else
      grids.emplace_back(data_title(task.data), steps);
  }
  std::string text;
  for (const auto& [names, steps] : grids) text += (text.empty() ? "" : "; ") + names + " " + steps;
  return text;
}

// The paper's models have no norm.
std::optional<PaperRow> paper_row_of(const TaskRuns& task, std::string_view gate) {
  return task.norm == "none" ? paper_row(task.data, gate) : std::nullopt;
}

// Long form: one row per gate, checkpoint and quantity.
constexpr const char* kByCheckpoint = "data norm gate share step quantity n mean sd";

}  // namespace

ReportTable table1(std::span<const TaskRuns> tasks) {
  ReportTable t{.name = "table1",
                .caption =
                    "Mean \xc2\xb1 standard deviation over n seeds on the test set; below it the "
                    "paper's value and the deviation from it. The metric is accuracy, for stories "
                    "perplexity. Best mean of a block in bold. The paper's models have no norm.",
                .heads = heads({"data", "gate", "n"}, 2),
                .keys = 2,
                .data = data_table(kByCheckpoint + std::string(" paper deviation best"))};
  for (size_t c = 0; c < kCheckpoints; c++)
    for (const char* what : {"loss", "metric"}) t.heads.push_back({what, percent_name(c)});
  for (const TaskRuns& task : tasks) {
    const std::array<Best, kCheckpoints> best = best_of(task);
    for (const GateRuns& g : task.gates) {
      if (g.runs.empty()) continue;
      const std::optional<PaperRow> paper = paper_row_of(task, g.gate);
      const size_t n = g.runs.size();
      std::vector<Cell> row = {{task_title(task)}, {gate_title(g.gate)}, {std::to_string(n)}};
      for (size_t c = 0; c < kCheckpoints; c++)
        for (const bool loss : {true, false}) {
          const std::vector<double> values = loss ? g.loss(c) : g.metric(c);
          const MeanAndSd m = mean_and_sd(values);
          const bool strong = loss ? m.mean == best[c].loss : comparable(task, m.mean) == best[c].metric;
          const double theirs = !paper ? NAN : loss ? paper->at[c].loss : paper->at[c].metric;
          const int digits = 4;
          Cell cell{spread_text(values, 1, digits), "", strong};
          if (paper) cell.note = fixed_text(theirs, digits) + " (" + signed_text(m.mean - theirs, digits) + ")";
          row.push_back(std::move(cell));
          t.data.add({task.data, task.norm, g.gate, number_text(kCheckpointShares[c]),
                      std::to_string(g.runs.front().at[c].step),
                      loss        ? "loss"
                      : task.text ? "perplexity"
                                  : "accuracy",
                      std::to_string(n), number_text(m.mean), n > 1 ? number_text(m.sd) : "",
                      paper ? number_text(theirs) : "", paper ? number_text(m.mean - theirs) : "",
                      strong ? "true" : "false"});
        }
      add_row(t, 1, std::move(row));
    }
  }
  return t;
}

ReportTable story_table(const TaskRuns& task) {
  ReportTable t{.name = "stories",
                .caption =
                    "Mean \xc2\xb1 standard deviation over n seeds. Training loss: mean over the tokens of the "
                    "epoch so far; validation loss: mean over the tokens of the validation stories; "
                    "perplexity: its exponential. Lowest mean of a checkpoint in bold.",
                .heads = heads({"gate", "trained", "n"}, 1),
                .keys = 2,
                .data = data_table(kByCheckpoint)};
  const std::array<std::pair<const char*, int>, 3> columns = {
      {{"training loss", 4}, {"validation loss", 4}, {"perplexity", 2}}};
  const auto values = [](const GateRuns& g, size_t column, size_t c) {
    return column == 0 ? g.train_loss(c) : column == 1 ? g.loss(c) : g.metric(c);
  };
  for (const auto& [name, digits] : columns) t.heads.push_back({name});
  const bool paper = paper_row(task.data, "sqs").has_value();
  if (paper)
    for (const char* what : {"loss", "perplexity"}) t.heads.push_back({what, "the paper's"});
  for (const GateRuns& g : task.gates)
    for (size_t c = 0; c < kCheckpoints && !g.runs.empty(); c++) {
      const size_t n = g.runs.size();
      std::vector<Cell> row = {{gate_title(g.gate)}, {percent_name(c)}, {std::to_string(n)}};
      for (size_t i = 0; i < columns.size(); i++) {
        const std::vector<double> own = values(g, i, c);
        const MeanAndSd m = mean_and_sd(own);
        const bool lowest = std::ranges::all_of(task.gates, [&](const GateRuns& other) {
          return other.runs.empty() || m.mean <= mean_and_sd(values(other, i, c)).mean;
        });
        row.push_back({.text = spread_text(own, 1, columns[i].second), .strong = lowest});
        t.data.add({task.data, task.norm, g.gate, number_text(kCheckpointShares[c]),
                    std::to_string(g.runs.front().at[c].step), columns[i].first, std::to_string(n), number_text(m.mean),
                    n > 1 ? number_text(m.sd) : ""});
      }
      if (const std::optional<PaperRow> theirs = paper_row(task.data, g.gate)) {
        row.push_back({fixed_text(theirs->at[c].loss, 4)});
        row.push_back({fixed_text(theirs->at[c].metric, 2)});
      }
      add_row(t, 1, std::move(row));
    }
  return t;
}

ReportTable paired_table(std::span<const TaskRuns> tasks) {
  ReportTable t{.name = "paired",
                .caption =
                    "SQS minus its rival at the end of training, over runs of the same seed: mean and 95 % "
                    "confidence interval (Student's t). Better or worse is said only where the interval "
                    "leaves out 0; the intervals are not corrected for their number.",
                .heads = heads({"data", "rival", "n"}, 2),
                .keys = 2,
                .data = data_table("data norm rival quantity n mean low high sqs_is")};
  for (const char* what : {"loss", "metric"})
    for (const char* column : {"difference", "95 % interval", "SQS is"})
      t.heads.push_back({.text = column, .group = what});
  for (const TaskRuns& task : tasks) {
    for (const std::string_view rival : kPaperGates) {
      if (rival == "sqs" || !task.find(rival) || !task.find("sqs")) continue;
      std::vector<Cell> row = {{task_title(task)}, {gate_title(rival)}};
      for (const Quantity q : {Quantity::loss, Quantity::metric}) {
        const PairedDifference d = paired_at(task, "sqs", rival, q, kCheckpoints - 1);
        if (q == Quantity::loss) row.push_back({std::to_string(d.n)});
        const bool lower_is_better = q == Quantity::loss || task.text;
        const std::string word = d.n < 2     ? "unknown"
                                 : d.below() ? lower_is_better ? "better" : "worse"
                                 : d.above() ? lower_is_better ? "worse" : "better"
                                             : "level";
        const std::string interval =
            d.n < 2 ? "\xe2\x80\x93" : signed_text(d.low, 4) + " \xe2\x80\xa6 " + signed_text(d.high, 4);
        row.push_back({d.n ? signed_text(d.mean, 4) : "\xe2\x80\x93"});
        row.push_back({interval});
        row.push_back({.text = word, .strong = word == "better" || word == "worse"});
        t.data.add({task.data, task.norm, std::string(rival),
                    q == Quantity::loss ? "loss"
                    : task.text         ? "perplexity"
                                        : "accuracy",
                    std::to_string(d.n), number_text(d.mean), d.n < 2 ? "" : number_text(d.low),
                    d.n < 2 ? "" : number_text(d.high), word});
      }
      add_row(t, 1, std::move(row));
    }
  }
  return t;
}

ReportTable milestone_table(std::span<const TaskRuns> tasks) {
  ReportTable t{.name = "milestones",
                .caption =
                    "First evaluated step with at least this test accuracy: mean \xc2\xb1 standard deviation "
                    "over n seeds. Below it the evaluation before, where the accuracy was still lower: the "
                    "true first step lies between the two. Fewest steps in bold. Evaluated at log-spaced "
                    "steps and at the ends of epochs: " +
                    grids_text(tasks) + ".",
                .heads = heads({"data", "gate", "n"}, 2),
                .keys = 2,
                .data = data_table("data gate accuracy n reached mean_step sd mean_step_before")};
  for (const double a : kMilestones) t.heads.push_back({.text = fixed_text(100 * a, 0) + " %"});
  for (const TaskRuns& task : tasks) {
    if (task.text) continue;
    const auto steps = [](const GateRuns& g, size_t i) {
      std::vector<double> v;
      for (const RunCurve& r : g.runs)
        if (r.reached[i]) v.push_back(static_cast<double>(r.reached[i]));
      return v;
    };
    std::array<double, kMilestones.size()> fewest;
    fewest.fill(INFINITY);
    for (const GateRuns& g : task.gates)
      for (size_t i = 0; i < kMilestones.size(); i++)
        if (const auto v = steps(g, i); v.size() == g.runs.size() && !v.empty())
          fewest[i] = std::min(fewest[i], mean_and_sd(v).mean);
    for (const GateRuns& g : task.gates) {
      if (g.runs.empty()) continue;
      std::vector<Cell> row = {{data_title(task.data)}, {gate_title(g.gate)}, {std::to_string(g.runs.size())}};
      for (size_t i = 0; i < kMilestones.size(); i++) {
        const std::vector<double> v = steps(g, i);
        const MeanAndSd m = mean_and_sd(v);
        const double before = mean_and_sd(steps_before(g, i)).mean;
        Cell cell{spread_text(v, 1, 0, "never")};
        if (!v.empty()) cell.note = "after " + fixed_text(before, 0);
        if (!v.empty() && v.size() < g.runs.size())
          cell.note += ", " + std::to_string(v.size()) + " of " + std::to_string(g.runs.size()) + " seeds";
        cell.strong = v.size() == g.runs.size() && m.mean == fewest[i];
        row.push_back(cell);
        t.data.add({task.data, g.gate, number_text(kMilestones[i]), std::to_string(g.runs.size()),
                    std::to_string(v.size()), v.empty() ? "" : number_text(m.mean),
                    v.size() > 1 ? number_text(m.sd) : "", v.empty() ? "" : number_text(before)});
      }
      add_row(t, 1, std::move(row));
    }
  }
  return t;
}

ReportTable depth_table(std::span<const DepthPoint> points) {
  ReportTable t{.name = "depth",
                .caption =
                    "Test accuracy and loss at the end of training by number of GLU layers: mean \xc2\xb1 "
                    "standard deviation over n seeds. Not in the paper.",
                .heads = heads({"data", "norm", "gate", "layers", "n", "accuracy", "loss"}, 3),
                .keys = 4,
                .data = data_table("data norm gate layers n failed accuracy+ loss+")};
  for (const DepthPoint& p : points) {
    const std::string n = std::to_string(p.accuracy.size()), layers = std::to_string(p.layers);
    Cell accuracy{spread_text(p.accuracy, 100, 2, "\xe2\x80\x93") + (p.accuracy.empty() ? "" : " %")};
    if (p.failed) accuracy.note = std::to_string(p.failed) + " runs ended in numbers that are not finite";
    add_row(t, 3,
            {{data_title(p.data)},
             {p.norm},
             {gate_title(p.gate)},
             {layers},
             {n},
             accuracy,
             {spread_text(p.loss, 1, 4, "\xe2\x80\x93")}});
    std::vector<std::string> line = {p.data, p.norm, p.gate, layers, n, std::to_string(p.failed)};
    add_spread(line, p.accuracy);
    add_spread(line, p.loss);
    t.data.add(std::move(line));
  }
  return t;
}

}  // namespace glint
