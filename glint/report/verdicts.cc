#include "glint/report/verdicts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "glint/base/statistics.h"
#include "glint/report/text.h"

namespace glint {
namespace {

// A verdict, and the numbers that it rests on in words.
struct Ruling {
  Verdict verdict = Verdict::not_tested;
  std::string measured;
};

constexpr std::string_view kImages[] = {"mnist", "fashion-mnist"};
constexpr std::string_view kRivals[] = {"relu", "gelu", "silu", "identity"};

Verdict tally(size_t won, size_t of) {
  return of == 0 ? Verdict::not_tested : won == of ? Verdict::holds : won ? Verdict::in_part : Verdict::fails;
}

std::string text(std::string_view s) { return std::string(s); }
std::string number(double v, int decimals = 4) { return fixed_text(v, decimals); }
std::string percent(double share, int decimals = 1) { return fixed_text(100 * share, decimals) + " %"; }
double mean(const std::vector<double>& v) { return mean_and_sd(v).mean; }

void join(std::string& all, const std::string& more, const char* between = "; ") {
  all += (all.empty() ? "" : between) + more;
}

size_t seeds(const TaskRuns& task) {
  size_t n = task.gates.empty() ? 0 : task.gates.front().runs.size();
  for (const GateRuns& g : task.gates) n = std::min(n, g.runs.size());
  return n;
}

bool complete(const Measured& m, std::string_view data) {
  const TaskRuns* task = m.task(data);
  if (!task) return false;
  return std::all_of(kPaperGates.begin(), kPaperGates.end(),
                     [&](std::string_view g) { return task->find(g) && !task->find(g)->runs.empty(); });
}

// ---- What was smaller than the paper's experiment; empty: nothing.

std::string small_task(const Measured& m, std::string_view data) {
  if (!complete(m, data)) return text(data_title(data)) + " was not run with all five gates";
  const TaskRuns& task = *m.task(data);
  if (!task.smaller.empty()) return text(data_title(data)) + ": " + task.smaller;
  if (seeds(task) < kEnoughSeeds)
    return text(data_title(data)) + ": " + std::to_string(seeds(task)) + " seeds";
  return "";
}

std::string small_images(const Measured& m) {
  std::string all;
  for (const std::string_view data : kImages)
    if (const std::string s = small_task(m, data); !s.empty()) join(all, s);
  return all;
}
std::string small_mnist(const Measured& m) { return small_task(m, "mnist"); }
std::string small_fashion(const Measured& m) { return small_task(m, "fashion-mnist"); }
std::string small_stories(const Measured& m) {
  if (const std::string s = small_task(m, "stories"); !s.empty()) return s;
  const size_t stories = m.task("stories")->train;
  if (stories >= kPaperStories / 2) return "";
  return std::to_string(stories) + " stories, where the paper has " + std::to_string(kPaperStories);
}
std::string small_spectra(const Measured& m) { return m.small_spectra; }
std::string small_depth(const Measured& m) { return m.small_depth; }
std::string small_timing(const Measured& m) {
  const size_t all = paper_timing().size();
  if (!m.timing || m.timing->shapes >= all) return "";
  return std::to_string(m.timing->shapes) + " of the paper's " + std::to_string(all) + " shapes";
}

// ---- The rules.

Ruling loss_below(const Measured& m) {
  size_t won = 0, of = 0;
  double least = -INFINITY;
  std::string where;
  for (const std::string_view data : kImages) {
    if (!complete(m, data)) continue;
    for (const std::string_view rival : {"relu", "identity"})
      for (size_t c = 0; c < kCheckpoints; c++) {
        const PairedDifference d = paired_at(*m.task(data), "sqs", rival, Quantity::loss, c);
        won += d.below(), of++;
        if (d.mean > least) {
          least = d.mean;
          where = text(data_title(data)) + ", " + text(gate_title(rival)) + ", " +
                  percent(kCheckpointShares[c], 0);
        }
      }
  }
  if (of == 0) return {};
  return {tally(won, of), "clearly lower in " + std::to_string(won) + " of " + std::to_string(of) +
                              " comparisons; smallest difference " + number(least) + " (" + where + ")"};
}

// Share of all steps after which the loss of SQS has reached the rival's last, by seed.
Ruling converges_faster(const Measured& m) {
  size_t won = 0, of = 0;
  std::string all;
  for (const std::string_view data : kImages) {
    if (!complete(m, data)) continue;
    const TaskRuns& task = *m.task(data);
    for (const std::string_view rival : {"relu", "identity"}) {
      std::vector<double> shares;
      for (const RunCurve& r : task.find(rival)->runs)
        for (const RunCurve& s : task.find("sqs")->runs)
          if (s.seed == r.seed) {
            const auto there = std::find_if(s.points.begin(), s.points.end(),
                                            [&](const CurvePoint& p) { return p.loss <= r.at.back().loss; });
            shares.push_back(there == s.points.end()
                                 ? INFINITY
                                 : static_cast<double>(there->step) /
                                       static_cast<double>(std::max<uint64_t>(1, task.steps)));
          }
      const bool faster = !shares.empty() && *std::max_element(shares.begin(), shares.end()) < 1;
      won += faster, of++;
      join(all,
           text(data_title(data)) + ": the last loss of " + text(gate_title(rival)) +
               (faster ? " after " + percent(mean(shares), 0) + " of the steps" : " not before its end"));
    }
  }
  return {tally(won, of), all};
}

Ruling lowest_loss(const Measured& m) {
  size_t won = 0, of = 0;
  std::string all;
  const size_t last = kCheckpoints - 1;
  for (const std::string_view data : kImages) {
    if (!complete(m, data)) continue;
    const TaskRuns& task = *m.task(data);
    size_t below = 0, above = 0;
    std::string_view best = "sqs";
    for (const std::string_view rival : kRivals) {
      const PairedDifference d = paired_at(task, "sqs", rival, Quantity::loss, last);
      below += d.below(), above += d.above();
      if (mean(task.find(rival)->loss(last)) < mean(task.find(best)->loss(last))) best = rival;
    }
    won += below == std::size(kRivals), of++;
    join(all, text(data_title(data)) + ": SQS " + number(mean(task.find("sqs")->loss(last))) + ", lowest " +
                  text(gate_title(best)) + " " + number(mean(task.find(best)->loss(last))) + ", " +
                  std::to_string(above) + " of 4 clearly below SQS");
  }
  const PaperRow sqs = *paper_row("mnist", "sqs"), gelu = *paper_row("mnist", "gelu");
  if (of && gelu.at[last].loss < sqs.at[last].loss)
    join(all, "the paper's own table has GELU " + number(gelu.at[last].loss) + " below SQS " +
                  number(sqs.at[last].loss) + " on MNIST");
  return {tally(won, of), all};
}

Ruling first_to_reach(const Measured& m) {
  if (!complete(m, "mnist")) return {};
  const TaskRuns& task = *m.task("mnist");
  // 2: clearly first; 1: first or level with the first, within the spread; 0: behind.
  size_t score = 0;
  std::string all;
  for (size_t i = 0; i < kMilestones.size(); i++) {
    const auto steps = [&](std::string_view gate) {
      std::vector<double> v;
      for (const RunCurve& r : task.find(gate)->runs)
        v.push_back(r.reached[i] ? static_cast<double>(r.reached[i]) : static_cast<double>(2 * task.steps));
      return v;
    };
    const std::vector<double> own = steps("sqs");
    bool clearly = true, behind = false;
    std::string_view best = "sqs";
    for (const std::string_view rival : kRivals) {
      const std::vector<double> other = steps(rival);
      const size_t n = std::min(own.size(), other.size());
      const PairedDifference d = paired_difference({own.data(), n}, {other.data(), n});
      clearly = clearly && (d.below() || (d.n < 2 && d.mean < 0));
      behind = behind || d.above() || (d.n < 2 && d.mean > 0);
      if (mean(other) < mean(steps(best))) best = rival;
    }
    score += clearly ? 2 : behind ? 0 : 1;
    join(all, percent(kMilestones[i], 0) + ": SQS at step " + number(mean(own), 0) +
                  (best == "sqs" ? clearly ? ", clearly first" : ", first but within the spread"
                                 : ", " + text(gate_title(best)) + " at " + number(mean(steps(best)), 0)));
  }
  const size_t most = 2 * kMilestones.size();
  return {score == most ? Verdict::holds : score ? Verdict::in_part : Verdict::fails, all};
}

Ruling accuracy_on_par(const Measured& m) {
  size_t won = 0, of = 0;
  std::string all;
  const size_t last = kCheckpoints - 1;
  for (const std::string_view data : kImages) {
    if (!complete(m, data)) continue;
    const TaskRuns& task = *m.task(data);
    const double own = mean(task.find("sqs")->metric(last));
    double best = 0;
    std::string_view who;
    for (const std::string_view rival : kRivals)
      if (const double a = mean(task.find(rival)->metric(last)); a > best) best = a, who = rival;
    won += best - own <= kParAccuracy, of++;
    join(all, text(data_title(data)) + ": " + percent(own, 2) + ", best rival " + text(gate_title(who)) +
                  " " + percent(best, 2));
  }
  return {tally(won, of), all};
}

Ruling comparable_loss(const Measured& m) {
  if (!complete(m, "fashion-mnist")) return {};
  const TaskRuns& task = *m.task("fashion-mnist");
  const size_t last = kCheckpoints - 1;
  double best = INFINITY;
  for (const std::string_view rival : kRivals) best = std::min(best, mean(task.find(rival)->loss(last)));
  const double own = mean(task.find("sqs")->loss(last)), ratio = own / best;
  return {ratio <= kComparableLoss ? Verdict::holds
          : ratio <= kRemoteLoss   ? Verdict::in_part
                                   : Verdict::fails,
          number(own) + " is " + number(ratio, 3) + " times the lowest loss, " + number(best)};
}

// Similarity is measured in several ways because the paper does not say which one it means: it holds when
// one way of comparing vector with vector passes on every data set.
template <class Value>
Ruling similarity_rule(const Measured& m, const Value& value, double least) {
  bool all_sets = false, any = false;
  std::string all;
  std::vector<std::string> told;
  for (const SimilarityCurve& first : m.similarity) {
    bool every = true;
    for (const SimilarityCurve& c : m.similarity)
      if (c.form == first.form && c.space == first.space && c.measure == first.measure)
        every = every && value(c) >= least;
    all_sets = all_sets || (every && first.measure != "subspace");
    any = any || value(first) >= least;
    if (std::find(told.begin(), told.end(), first.data) != told.end()) continue;
    told.push_back(first.data);
    const auto words = [&](const SimilarityCurve& c) {
      return number(value(c), 2) + " (" + c.measure + ", " + c.form + " form, " + c.space + ")";
    };
    const SimilarityCurve* best = &first;
    for (const SimilarityCurve& c : m.similarity)
      if (c.data == first.data && value(c) > value(*best)) best = &c;
    join(all, text(data_title(first.data)) + ": " + words(first) +
                  (best == &first ? "" : ", by the most favourable way " + words(*best)));
  }
  if (all.empty()) return {};
  return {all_sets ? Verdict::holds : any ? Verdict::in_part : Verdict::fails, all};
}

Ruling top_similarity(const Measured& m) {
  return similarity_rule(
      m, [](const SimilarityCurve& c) { return c.mean.empty() ? 0 : c.mean.front(); }, kTopSimilarity);
}

Ruling least_similarity(const Measured& m) {
  return similarity_rule(
      m,
      [](const SimilarityCurve& c) {
        return c.mean.empty() ? 0 : *std::min_element(c.mean.begin(), c.mean.end());
      },
      kLeastSimilarity);
}

Ruling few_dominate(const Measured& m) {
  for (const SpectrumShare& s : m.spectra) {
    if (s.data != "mnist" || s.gate != "sqs" || s.energy.empty()) continue;
    const double least = *std::min_element(s.energy.begin(), s.energy.end()), middle = mean(s.energy);
    return {least >= kMostEnergy    ? Verdict::holds
            : middle >= kMostEnergy ? Verdict::in_part
                                    : Verdict::fails,
            "the " + std::to_string(s.few) + " strongest of " + std::to_string(s.width) + " carry " +
                percent(least, 0) + " to " + percent(*std::max_element(s.energy.begin(), s.energy.end()), 0) +
                " of the squared eigenvalues of a class; with them alone the form is right on " +
                percent(s.accuracy_few) + " of the test images, with all on " + percent(s.accuracy_all)};
  }
  return {};
}

Ruling explains(const Measured& m) {
  bool plain = true, any_form = true;
  std::string all;
  for (const std::string_view data : kImages) {
    double best = -1, own = -1;
    for (const FormTrust& t : m.trust)
      if (t.data == data && t.gate == "sqs" && !t.agreement.empty()) {
        best = std::max(best, mean(t.agreement));
        if (t.form == "weights") own = mean(t.agreement);
        join(all, text(data_title(data)) + ", " + t.form + " form: " + percent(mean(t.agreement)) +
                      " agreement, R2 " + number(mean(t.r2), 2));
      }
    plain = plain && own >= kTrustedAgreement;
    any_form = any_form && best >= kTrustedAgreement;
  }
  if (all.empty()) return {};
  return {plain ? Verdict::holds : any_form ? Verdict::in_part : Verdict::fails, all};
}

Ruling as_fast(const Measured& m) {
  if (!m.timing) return {};
  size_t won = 0;
  std::string all;
  for (const auto& [rival, ratio] : m.timing->over) {
    won += ratio <= kParTime;
    join(all, number(ratio, 3) + " x " + text(gate_title(rival)), ", ");
  }
  return {tally(won, m.timing->over.size()), "time of SQS: " + all + " (geometric means over " +
                                                 std::to_string(m.timing->shapes) + " shapes); fastest in " +
                                                 std::to_string(m.timing->fastest)};
}

Ruling best_stories(const Measured& m) {
  if (!complete(m, "stories")) return {};
  const TaskRuns& task = *m.task("stories");
  size_t won = 0, of = 0;
  std::string all;
  for (size_t c = 1; c < kCheckpoints; c++) {
    std::string_view best = "sqs";
    for (const Quantity q : {Quantity::loss, Quantity::metric}) {
      bool clearly = true;
      for (const std::string_view rival : kRivals)
        clearly = clearly && paired_at(task, "sqs", rival, q, c).below();
      won += clearly, of++;
    }
    for (const std::string_view rival : kRivals)
      if (mean(task.find(rival)->loss(c)) < mean(task.find(best)->loss(c))) best = rival;
    join(all, percent(kCheckpointShares[c], 0) + ": SQS " + number(mean(task.find("sqs")->loss(c))) +
                  (best == "sqs" ? ", lowest"
                                 : ", lowest " + text(gate_title(best)) + " " +
                                       number(mean(task.find(best)->loss(c)))));
  }
  return {tally(won, of), "clearly best in " + std::to_string(won) + " of " + std::to_string(of) +
                              " comparisons; loss at " + all};
}

Ruling deeper(const Measured& m) {
  size_t won = 0, of = 0;
  std::string all;
  for (const std::string_view data : kImages) {
    const auto curve = [&](std::string_view gate) {
      std::vector<std::pair<size_t, double>> c;
      for (const DepthPoint& p : m.depth)
        if (p.data == data && p.gate == gate)
          c.emplace_back(p.layers, p.accuracy.empty() || p.failed ? 0 : mean(p.accuracy));
      return c;
    };
    const auto sqs = curve("sqs"), bilinear = curve("identity");
    if (sqs.size() < 2 || bilinear.size() < 2) continue;
    const auto by_accuracy = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto lost = [&](const auto& c) {
      return std::max_element(c.begin(), c.end(), by_accuracy)->second -
             std::min_element(c.begin(), c.end(), by_accuracy)->second;
    };
    won += lost(sqs) <= kDepthLoss && lost(bilinear) > kDepthLoss, of++;
    std::string row;
    for (size_t i = 0; i < std::min(sqs.size(), bilinear.size()); i++)
      join(row,
           std::to_string(sqs[i].first) + " layers " + percent(sqs[i].second) + " and " +
               percent(bilinear[i].second),
           ", ");
    join(all, text(data_title(data)) + " (SQS and bilinear): " + row);
  }
  return {tally(won, of), all};
}

struct Rule {
  const char *id, *quote, *place, *rule;
  Ruling (*judge)(const Measured&);
  std::string (*smaller)(const Measured&);
  bool in_paper = true;
};

// "Clearly": the 95 % confidence interval of the paired difference over seeds leaves out 0.
const Rule kRules[] = {
    {"similarity-top", "cosine similarity ... .95 for the most important eigenvectors",
     "section 4.1, figure 2B", "mean similarity of the first eigenvectors is at least 0.95 on both data sets",
     top_similarity, small_spectra},
    {"similarity-least", "cosine similarity ... never below .5", "section 4.1, figure 2B",
     "mean similarity is at least 0.5 at every rank shown, on both data sets", least_similarity,
     small_spectra},
    {"loss-below", "outperforms both the ReLU-GLU and Bilinear MLP at all intermediate checkpoints",
     "section 4.2.1, table 1", "loss clearly lower than both, at all four checkpoints of both data sets",
     loss_below, small_images},
    {"converges-faster", "converges faster ... than both ReLU-GLUs and Bilinear MLPs",
     "section 4.2.1, figure 3", "for every seed, SQS reaches the rival's last loss before the rival does",
     converges_faster, small_images},
    {"lowest-loss", "loss lower than all other activation functions at the end of training", "section 4.2.1",
     "loss at the end clearly lower than all four, on both data sets", lowest_loss, small_images},
    {"first-to-reach", "the first to reach 80%, 85%, and 90% accuracy", "section 4.2.1, figure 3",
     "on MNIST clearly fewer steps than all four, for each of the three", first_to_reach, small_mnist},
    {"accuracy-on-par", "end-of-training accuracy on par with all other tested activation functions",
     "section 4.2.1", "at most 0.5 points below the best rival, on both data sets", accuracy_on_par,
     small_images},
    {"comparable-loss", "[on FMNIST] final loss being comparable to that of the best-performing",
     "section 4.2.1", "at most 1.1 times the lowest loss (in part: 1.25 times)", comparable_loss,
     small_fashion},
    {"best-stories", "best performance both in terms of loss and perplexity at the 50%, 75%, and 100% steps",
     "section 4.2.2, table 1", "clearly lower than all four, at three checkpoints, in both", best_stories,
     small_stories},
    {"few-dominate", "the first few eigenvectors ... consistently significantly more important", "appendix B",
     "ten eigenvectors carry half of the squared eigenvalues of every class of MNIST", few_dominate,
     small_spectra},
    {"explains", "eigenvectors of SQS-GLUs can be used to explain why certain inputs were classified",
     "appendix B",
     "the quadratic form of the weights decides as the model on 90 % of both test sets (in part: calibrated)",
     explains, small_spectra},
    {"as-fast", "a triton implementation of SQS runs in time on par", "section 4, appendix C",
     "at most 1.05 times the time of each of the four", as_fast, small_timing},
    {"depth", "where a bilinear stack stops training, SQS goes on", "not in the paper",
     "over 1 to 6 layers SQS loses at most 5 points of accuracy and bilinear more, on both data sets", deeper,
     small_depth, false},
};

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::in_part:
      return "holds in part";
    case Verdict::fails:
      return "does not hold";
    case Verdict::not_tested:
      break;
  }
  return "not tested at this scale";
}

std::vector<Finding> judge(const Measured& measured) {
  std::vector<Finding> findings;
  for (const Rule& rule : kRules) {
    Ruling ruling = rule.judge(measured);
    if (ruling.verdict == Verdict::not_tested) {
      ruling.measured = kNotRun;
    } else if (const std::string less = rule.smaller(measured); !less.empty()) {
      ruling.measured +=
          " (" + less + "; by themselves these numbers would say: " + text(name(ruling.verdict)) + ")";
      ruling.verdict = Verdict::not_tested;
    }
    findings.push_back(
        {rule.id, rule.quote, rule.place, rule.rule, ruling.measured, ruling.verdict, rule.in_paper});
  }
  return findings;
}

}  // namespace glint
