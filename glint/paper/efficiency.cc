#include "glint/paper/efficiency.h"

#include <algorithm>
#include <cmath>

#include "glint/paper/columns.h"

namespace glint {

double loss_at(const RunCurve& run, double step) {
  const std::vector<CurvePoint>& p = run.points;
  for (size_t i = 0; i < p.size(); i++) {
    const double here = static_cast<double>(p[i].step);
    if (step == here) return p[i].loss;
    if (i + 1 == p.size() || step < here) return NAN;
    const double next = static_cast<double>(p[i + 1].step);
    if (step < next) return p[i].loss + (p[i + 1].loss - p[i].loss) * (step - here) / (next - here);
  }
  return NAN;
}

double step_to(const RunCurve& run, double loss) {
  const std::vector<CurvePoint>& p = run.points;
  for (size_t i = 0; i < p.size(); i++) {
    if (p[i].loss > loss) continue;
    const double here = static_cast<double>(p[i].step);
    if (i == 0 || p[i].loss == loss) return here;
    const double before = static_cast<double>(p[i - 1].step);
    return before + (here - before) * (p[i - 1].loss - loss) / (p[i - 1].loss - p[i].loss);
  }
  return INFINITY;
}

std::vector<double> step_ratios(const TaskRuns& task, std::string_view rival, double share) {
  std::vector<double> ratios;
  const GateRuns *own = task.find("sqs"), *other = task.find(rival);
  if (!own || !other) return ratios;
  const double step = share * static_cast<double>(task.steps);
  for (const RunCurve& a : own->runs)
    for (const RunCurve& b : other->runs)
      if (a.seed == b.seed)
        if (const double loss = loss_at(b, step); std::isfinite(loss)) ratios.push_back(step_to(a, loss) / step);
  return ratios;
}

ReportTable efficiency_table(std::span<const TaskRuns> tasks) {
  ReportTable t{.name = "efficiency",
                .caption =
                    "Data efficiency: the steps that SQS takes to the loss which a rival has after 10, 25, 50 and "
                    "75 % of its training, divided by the rival's steps. Above 1 SQS is slower; never: not within "
                    "its whole training. Mean \xc2\xb1 standard deviation over n seeds, straight lines between "
                    "evaluations.",
                .heads = heads({"data", "rival", "n"}, 2),
                .keys = 2,
                .data = data_table("data rival share n never ratio+")};
  for (const double share : kEfficiencyShares) t.heads.push_back({.text = fixed_text(100 * share, 0) + " %"});
  for (const TaskRuns& task : tasks) {
    for (const std::string_view rival : kPaperGates) {
      if (rival == "sqs" || !task.find(rival) || !task.find("sqs")) continue;
      std::vector<Cell> row = {{data_title(task.data)}, {gate_title(rival)}, {}};
      size_t seeds = 0;
      for (const double share : kEfficiencyShares) {
        std::vector<double> ratios = step_ratios(task, rival, share);
        const size_t n = ratios.size();
        std::erase_if(ratios, [](double r) { return !std::isfinite(r); });
        const size_t never = n - ratios.size();
        Cell cell{spread_text(ratios, 1, 2, n ? "never" : "\xe2\x80\x93")};
        if (never && !ratios.empty()) cell.note = std::to_string(never) + " of " + std::to_string(n) + " never";
        seeds = std::max(seeds, n);
        row.push_back(std::move(cell));
        std::vector<std::string> line = {task.data, std::string(rival), number_text(share), std::to_string(n),
                                         std::to_string(never)};
        add_spread(line, ratios);
        t.data.add(std::move(line));
      }
      row[2].text = std::to_string(seeds);
      add_row(t, 1, std::move(row));
    }
  }
  return t;
}

}  // namespace glint
