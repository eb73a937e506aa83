// Claims about training: losses, accuracies, steps, depth, and the time of a gate.
#include <cmath>

#include "glint/paper/efficiency.h"
#include "glint/paper/verdict_rules.h"
#include "glint/paper/verdicts.h"

namespace glint {
namespace {

constexpr size_t kLast = kCheckpoints - 1;

double final_loss(const TaskRuns& task, std::string_view gate) { return mean(task.find(gate)->loss(kLast)); }

std::string_view best_rival(const TaskRuns& task) {
  std::string_view best = kRivals[0];
  for (const std::string_view rival : kRivals)
    if (final_loss(task, rival) < final_loss(task, best)) best = rival;
  return best;
}

// The step at which a run came so far; one that never did counts as late as two trainings.
double first_step(const TaskRuns& task, const RunCurve& run, size_t milestone) {
  return static_cast<double>(run.reached[milestone] ? run.reached[milestone] : 2 * task.steps);
}

// Over the seeds that both gates have.
PairedDifference steps_between(const TaskRuns& task, std::string_view rival, size_t milestone) {
  std::vector<double> own, other;
  for (const RunCurve& a : task.find("sqs")->runs)
    for (const RunCurve& b : task.find(rival)->runs)
      if (a.seed == b.seed) {
        own.push_back(first_step(task, a, milestone));
        other.push_back(first_step(task, b, milestone));
      }
  return paired_difference(own, other);
}

// SQS needs at most `most` times the steps of SwiGLU and GELU at each share of their training.
Ruling steps_of_rivals(const Measured& m, const Scope& s, double most) {
  size_t won = 0, of = 0;
  std::string all;
  for (const std::string& data : s.images) {
    if (!complete(m, data)) continue;
    for (const std::string_view rival : {"silu", "gelu"}) {
      std::string row;
      for (const double share : kEfficiencyShares) {
        const std::vector<double> ratios = step_ratios(*m.task(data), rival, share);
        if (ratios.empty()) continue;
        const double ratio = mean(ratios);
        won += ratio <= most, of++;
        join(row, percent(share, 0) + " " + (std::isfinite(ratio) ? number(ratio, 2) : "never"), ", ");
      }
      if (!row.empty())
        join(all, text(data_title(data)) + ", steps of SQS / steps of " + text(gate_title(rival)) + " to its loss at " +
                      row);
    }
  }
  return {tally(won, of), all};
}

}  // namespace

Ruling loss_below(const Measured& m, const Scope& s) {
  size_t won = 0, of = 0;
  double least = -INFINITY;
  std::string where, word;
  for (const std::string& data : s.images) {
    if (!complete(m, data)) continue;
    word = clearly(seeds(*m.task(data)));
    for (const std::string_view rival : {"relu", "identity"})
      for (size_t c = 0; c < kCheckpoints; c++) {
        const PairedDifference d = paired_at(*m.task(data), "sqs", rival, Quantity::loss, c);
        won += lower(d), of++;
        if (d.mean > least) {
          least = d.mean;
          where = text(data_title(data)) + ", " + text(gate_title(rival)) + ", " + percent(kCheckpointShares[c], 0);
        }
      }
  }
  if (of == 0) return {};
  return {tally(won, of), word + "lower in " + std::to_string(won) + " of " + std::to_string(of) +
                              " comparisons; smallest difference " + number(least) + " (" + where + ")"};
}

// Share of all steps after which the loss of SQS has reached the rival's last, by seed.
Ruling converges_faster(const Measured& m, const Scope& s) {
  size_t won = 0, of = 0;
  std::string all;
  for (const std::string& data : s.images) {
    if (!complete(m, data)) continue;
    const TaskRuns& task = *m.task(data);
    for (const std::string_view rival : {"relu", "identity"}) {
      std::vector<double> shares;
      for (const RunCurve& r : task.find(rival)->runs)
        for (const RunCurve& own : task.find("sqs")->runs)
          if (own.seed == r.seed) {
            const auto there = std::find_if(own.points.begin(), own.points.end(),
                                            [&](const CurvePoint& p) { return p.loss <= r.at.back().loss; });
            shares.push_back(there == own.points.end() ? INFINITY
                                                       : static_cast<double>(there->step) /
                                                             static_cast<double>(std::max<uint64_t>(1, task.steps)));
          }
      const bool faster = !shares.empty() && *std::max_element(shares.begin(), shares.end()) < 1;
      won += faster, of++;
      join(all, text(data_title(data)) + ": the last loss of " + text(gate_title(rival)) +
                    (faster ? " after " + percent(mean(shares), 0) + " of the steps" : " not before its end"));
    }
  }
  return {tally(won, of), all};
}

Ruling lowest_loss(const Measured& m, const Scope& s) {
  size_t won = 0, of = 0;
  std::string all;
  for (const std::string& data : s.images) {
    if (!complete(m, data)) continue;
    const TaskRuns& task = *m.task(data);
    size_t below = 0, above = 0;
    for (const std::string_view rival : kRivals) {
      const PairedDifference d = paired_at(task, "sqs", rival, Quantity::loss, kLast);
      below += lower(d), above += higher(d);
    }
    const std::string_view rival = best_rival(task);
    const std::string_view best = final_loss(task, rival) < final_loss(task, "sqs") ? rival : "sqs";
    won += below == std::size(kRivals), of++;
    join(all, text(data_title(data)) + ": SQS " + number(final_loss(task, "sqs")) + ", lowest " +
                  text(gate_title(best)) + " " + number(final_loss(task, best)) + ", " + std::to_string(above) +
                  " of 4 " + clearly(seeds(task)) + "below SQS");
  }
  return {tally(won, of), all};
}

Ruling first_to_reach(const Measured& m, const Scope& s) {
  if (!complete(m, s.mnist)) return {};
  const TaskRuns& task = *m.task(s.mnist);
  size_t surely = 0, fewest = 0, reached = 0;
  std::string all;
  for (const GateRuns& g : task.gates)
    for (const RunCurve& r : g.runs)
      for (const uint64_t step : r.reached) reached += step > 0;
  if (reached == 0) return {};
  for (size_t i = 0; i < kMilestones.size(); i++) {
    const auto steps = [&](std::string_view gate) {
      double sum = 0;
      for (const RunCurve& r : task.find(gate)->runs) sum += first_step(task, r, i);
      return sum / static_cast<double>(task.find(gate)->runs.size());
    };
    const double own = steps("sqs");
    double best = INFINITY;
    std::string_view who;
    bool sure = true;
    for (const std::string_view rival : kRivals) {
      sure = sure && lower(steps_between(task, rival, i));
      if (const double other = steps(rival); other < best) best = other, who = rival;
    }
    surely += sure, fewest += own < best;
    const std::string next = text(gate_title(who)) + " at " + number(best, 0);
    join(all, percent(kMilestones[i], 0) + ": SQS at step " + number(own, 0) +
                  (own > best    ? ", behind "
                   : own == best ? ", level with "
                   : sure        ? ", clearly before "
                                 : ", within the spread before ") +
                  next);
  }
  return {surely == kMilestones.size() ? Verdict::holds : fewest ? Verdict::in_part : Verdict::fails, all};
}

Ruling convergence_near(const Measured& m, const Scope& s) { return steps_of_rivals(m, s, kNearSteps); }
Ruling data_efficiency(const Measured& m, const Scope& s) { return steps_of_rivals(m, s, kParSteps); }

Ruling accuracy_on_par(const Measured& m, const Scope& s) {
  size_t won = 0, of = 0;
  std::string all;
  for (const std::string& data : s.images) {
    if (!complete(m, data)) continue;
    const TaskRuns& task = *m.task(data);
    const double own = mean(task.find("sqs")->metric(kLast));
    double best = 0;
    std::string_view who;
    for (const std::string_view rival : kRivals)
      if (const double a = mean(task.find(rival)->metric(kLast)); a > best) best = a, who = rival;
    won += best - own <= kParAccuracy, of++;
    join(all, text(data_title(data)) + ": " + percent(own, 2) + ", best rival " + text(gate_title(who)) + " " +
                  percent(best, 2));
  }
  return {tally(won, of), all};
}

Ruling comparable_loss(const Measured& m, const Scope& s) {
  if (!complete(m, s.fashion)) return {};
  const TaskRuns& task = *m.task(s.fashion);
  const std::string_view rival = best_rival(task);
  const double own = final_loss(task, "sqs"), best = final_loss(task, rival), ratio = own / best,
               bilinear = final_loss(task, "identity");
  const PairedDifference d = paired_at(task, "sqs", rival, Quantity::loss, kLast);
  std::string all = number(own) + " is " + number(ratio, 3) + " times the lowest loss, " + number(best) + " of " +
                    text(gate_title(rival)) + "; difference " + interval_text(d) +
                    (higher(d)  ? std::string(", ") + clearly(d.n) + "higher"
                     : lower(d) ? std::string(", ") + clearly(d.n) + "lower"
                                : ", not clear");
  if (bilinear > best)
    all += "; SQS closes " + percent((bilinear - own) / (bilinear - best), 0) + " of the gap between bilinear, " +
           number(bilinear) + ", and the lowest";
  return {ratio <= kComparableLoss ? Verdict::holds : ratio <= kRemoteLoss ? Verdict::in_part : Verdict::fails, all};
}

Ruling best_stories(const Measured& m, const Scope& s) {
  if (!complete(m, s.stories)) return {};
  const TaskRuns& task = *m.task(s.stories);
  size_t won = 0, of = 0;
  std::string all;
  for (size_t c = 1; c < kCheckpoints; c++) {
    std::string_view best = "sqs";
    for (const Quantity q : {Quantity::loss, Quantity::metric}) {
      won += std::ranges::all_of(kRivals, [&](auto rival) { return lower(paired_at(task, "sqs", rival, q, c)); });
      of++;
    }
    for (const std::string_view rival : kRivals)
      if (mean(task.find(rival)->loss(c)) < mean(task.find(best)->loss(c))) best = rival;
    join(all,
         percent(kCheckpointShares[c], 0) + ": SQS " + number(mean(task.find("sqs")->loss(c))) +
             (best == "sqs" ? ", lowest"
                            : ", lowest " + text(gate_title(best)) + " " + number(mean(task.find(best)->loss(c)))));
  }
  return {tally(won, of), std::string(clearly(seeds(task))) + "best in " + std::to_string(won) + " of " +
                              std::to_string(of) + " comparisons; loss at " + all};
}

// Training has stopped at a depth when accuracy is far below that of the gate's best depth.
Ruling deeper(const Measured& m, const Scope& s) {
  size_t won = 0, of = 0;
  std::string all;
  for (const std::string& data : s.images) {
    const auto curve = [&](std::string_view gate) {
      std::vector<std::pair<size_t, double>> c;
      for (const DepthPoint& p : m.depth)
        if (p.data == data && p.gate == gate && p.norm == "none")
          c.emplace_back(p.layers, p.accuracy.empty() || p.failed ? 0 : mean(p.accuracy));
      return c;
    };
    const auto sqs = curve("sqs"), bilinear = curve("identity");
    if (sqs.size() < 2 || sqs.size() != bilinear.size()) continue;
    const auto best = [](const auto& c) {
      double most = 0;
      for (const auto& [layers, accuracy] : c) most = std::max(most, accuracy);
      return most;
    };
    std::string row;
    for (size_t i = 0; i < sqs.size(); i++) {
      if (best(bilinear) - bilinear[i].second > kDepthLoss) {
        of++;
        won += best(sqs) - sqs[i].second <= kDepthLoss;
      }
      join(row,
           std::to_string(sqs[i].first) + (sqs[i].first == 1 ? " layer " : " layers ") + percent(sqs[i].second) +
               " and " + percent(bilinear[i].second),
           ", ");
    }
    join(all, text(data_title(data)) + " (SQS and bilinear): " + row);
  }
  if (all.empty()) return {};
  if (of == 0) return {Verdict::not_tested, "the bilinear stack trains at every depth; " + all};
  return {tally(won, of), "SQS trains at " + std::to_string(won) + " of the " + std::to_string(of) +
                              " depths at which bilinear does not; " + all};
}

Ruling advantage_with_norm(const Measured& m, const Scope& s) {
  size_t won = 0, of = 0;
  std::string all;
  for (const std::string& data : s.images) {
    const TaskRuns* task = m.task(data, "rms");
    if (!task || !task->find("sqs") || !task->find("identity")) continue;
    const PairedDifference d = paired_at(*task, "sqs", "identity", Quantity::loss, kLast);
    won += lower(d), of++;
    std::string row = text(data_title(data)) + ": loss of SQS minus bilinear with a norm " + interval_text(d);
    if (const TaskRuns* plain = m.task(data); plain && plain->find("sqs") && plain->find("identity"))
      row += ", without " + interval_text(paired_at(*plain, "sqs", "identity", Quantity::loss, kLast));
    join(all, row);
  }
  return {tally(won, of), all};
}

Ruling as_fast(const Measured& m, const Scope&) {
  if (!m.timing) return {};
  size_t won = 0;
  std::string all;
  for (const auto& [rival, ratio] : m.timing->over) {
    won += ratio <= kParTime;
    join(all, number(ratio, 3) + " x " + text(gate_title(rival)), ", ");
  }
  return {tally(won, m.timing->over.size()),
          "time of SQS" + (m.cpu.empty() ? std::string() : " on this CPU (glint's kernels, not Triton on a GPU)") +
              ": " + all + " (geometric means over " + std::to_string(m.timing->shapes) + " shapes); fastest in " +
              std::to_string(m.timing->fastest)};
}

}  // namespace glint
