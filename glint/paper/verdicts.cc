#include "glint/paper/verdicts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "glint/base/statistics.h"
#include "glint/base/text.h"

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

// With one seed there is no interval: then the sign speaks.
bool lower(const PairedDifference& d) { return d.n < 2 ? d.n == 1 && d.mean < 0 : d.below(); }
bool higher(const PairedDifference& d) { return d.n < 2 ? d.n == 1 && d.mean > 0 : d.above(); }
const char* clearly(size_t n) { return n < 2 ? "" : "clearly "; }

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
std::string small_stories(const Measured& m) { return small_task(m, "stories"); }
// Claims about both sets need both.
template <class Rows>
std::string missing_set(const Rows& rows) {
  std::string all;
  for (const std::string_view data : kImages)
    if (std::ranges::none_of(rows, [&](const auto& r) { return r.data == data; }))
      join(all, text(data_title(data)) + " was not run");
  return all;
}
std::string first_of(const std::string& a, const std::string& b) { return a.empty() ? b : a; }
std::string small_spectra(const Measured& m) { return m.small_spectra; }
std::string small_similarity(const Measured& m) {
  return first_of(m.small_spectra, missing_set(m.similarity));
}
std::string small_trust(const Measured& m) { return first_of(m.small_spectra, missing_set(m.trust)); }
std::string small_depth(const Measured& m) {
  size_t least = SIZE_MAX;
  for (const DepthPoint& p : m.depth) least = std::min(least, p.accuracy.size() + p.failed);
  return first_of(first_of(m.small_depth, missing_set(m.depth)),
                  least < kEnoughSeeds ? std::to_string(least) + " seeds" : "");
}
std::string small_timing(const Measured& m) {
  const size_t all = paper_timing().size();
  if (!m.timing || m.timing->shapes >= all) return "";
  return std::to_string(m.timing->shapes) + " of the paper's " + std::to_string(all) + " shapes";
}

// ---- The rules.

Ruling loss_below(const Measured& m) {
  size_t won = 0, of = 0;
  double least = -INFINITY;
  std::string where, word;
  for (const std::string_view data : kImages) {
    if (!complete(m, data)) continue;
    word = clearly(seeds(*m.task(data)));
    for (const std::string_view rival : {"relu", "identity"})
      for (size_t c = 0; c < kCheckpoints; c++) {
        const PairedDifference d = paired_at(*m.task(data), "sqs", rival, Quantity::loss, c);
        won += lower(d), of++;
        if (d.mean > least) {
          least = d.mean;
          where = text(data_title(data)) + ", " + text(gate_title(rival)) + ", " +
                  percent(kCheckpointShares[c], 0);
        }
      }
  }
  if (of == 0) return {};
  return {tally(won, of), word + "lower in " + std::to_string(won) + " of " + std::to_string(of) +
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
      below += lower(d), above += higher(d);
      if (mean(task.find(rival)->loss(last)) < mean(task.find(best)->loss(last))) best = rival;
    }
    won += below == std::size(kRivals), of++;
    join(all, text(data_title(data)) + ": SQS " + number(mean(task.find("sqs")->loss(last))) + ", lowest " +
                  text(gate_title(best)) + " " + number(mean(task.find(best)->loss(last))) + ", " +
                  std::to_string(above) + " of 4 " + clearly(seeds(task)) + "below SQS");
  }
  const PaperRow sqs = *paper_row("mnist", "sqs"), gelu = *paper_row("mnist", "gelu");
  if (of && gelu.at[last].loss < sqs.at[last].loss)
    join(all, "the paper's own table has GELU " + number(gelu.at[last].loss) + " below SQS " +
                  number(sqs.at[last].loss) + " on MNIST");
  return {tally(won, of), all};
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

Ruling first_to_reach(const Measured& m) {
  if (!complete(m, "mnist")) return {};
  const TaskRuns& task = *m.task("mnist");
  size_t surely = 0, fewest = 0;
  std::string all;
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
// one way of comparing vector with vector passes on every data set, in part when one passes on one of them.
// Subspaces are shown and do not count: the claim is about eigenvectors.
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
    any = any || (value(first) >= least && first.measure != "subspace");
    if (std::find(told.begin(), told.end(), first.data) != told.end()) continue;
    told.push_back(first.data);
    const auto words = [&](const SimilarityCurve& c) {
      return number(value(c), 2) + " (" + c.measure + ", " + c.form + " form, " + c.space + ")";
    };
    const SimilarityCurve* best = &first;
    for (const SimilarityCurve& c : m.similarity)
      if (c.data == first.data && c.measure != "subspace" && value(c) > value(*best)) best = &c;
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
    if (best < 0) continue;  // not run: said by small_trust
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
  if (!complete(m, "stories"))
    return {Verdict::not_tested,
            m.task("tales") ? "trained on the built-in tales, not on TinyStories" : std::string()};
  const TaskRuns& task = *m.task("stories");
  size_t won = 0, of = 0;
  std::string all;
  for (size_t c = 1; c < kCheckpoints; c++) {
    std::string_view best = "sqs";
    for (const Quantity q : {Quantity::loss, Quantity::metric}) {
      won += std::ranges::all_of(kRivals,
                                 [&](auto rival) { return lower(paired_at(task, "sqs", rival, q, c)); });
      of++;
    }
    for (const std::string_view rival : kRivals)
      if (mean(task.find(rival)->loss(c)) < mean(task.find(best)->loss(c))) best = rival;
    join(all, percent(kCheckpointShares[c], 0) + ": SQS " + number(mean(task.find("sqs")->loss(c))) +
                  (best == "sqs" ? ", lowest"
                                 : ", lowest " + text(gate_title(best)) + " " +
                                       number(mean(task.find(best)->loss(c)))));
  }
  return {tally(won, of), std::string(clearly(seeds(task))) + "best in " + std::to_string(won) + " of " +
                              std::to_string(of) + " comparisons; loss at " + all};
}

// Training has stopped at a depth when accuracy is far below that of the gate's best depth.
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
           std::to_string(sqs[i].first) + (sqs[i].first == 1 ? " layer " : " layers ") +
               percent(sqs[i].second) + " and " + percent(bilinear[i].second),
           ", ");
    }
    join(all, text(data_title(data)) + " (SQS and bilinear): " + row);
  }
  if (all.empty()) return {};
  if (of == 0) return {Verdict::not_tested, "the bilinear stack trains at every depth; " + all};
  return {tally(won, of), "SQS trains at " + std::to_string(won) + " of the " + std::to_string(of) +
                              " depths at which bilinear does not; " + all};
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
     "section 4.1, figure 2B",
     "mean similarity of the first eigenvectors is at least 0.95 on both data sets, in one of the ways to "
     "pair them "
     "(by rank or best pairs, either form, either space); in part: on one data set",
     top_similarity, small_similarity},
    {"similarity-least", "cosine similarity ... never below .5", "section 4.1, figure 2B",
     "mean similarity is at least 0.5 at every rank shown, on both data sets, in one of the ways to pair "
     "them; in "
     "part: on one data set",
     least_similarity, small_similarity},
    {"loss-below", "outperforms both the ReLU-GLU and Bilinear MLP at all intermediate checkpoints",
     "section 4.2.1, table 1", "loss clearly lower than both, at all four checkpoints of both data sets",
     loss_below, small_images},
    {"converges-faster", "converges faster ... than both ReLU-GLUs and Bilinear MLPs",
     "section 4.2.1, figure 3", "for every seed, SQS reaches the rival's last loss before the rival does",
     converges_faster, small_images},
    {"lowest-loss", "loss lower than all other activation functions at the end of training", "section 4.2.1",
     "loss at the end clearly lower than all four, on both data sets", lowest_loss, small_images},
    {"first-to-reach", "the first to reach 80%, 85%, and 90% accuracy", "section 4.2.1, figure 3",
     "on MNIST clearly fewer steps than all four, for each of the three (in part: the fewest for one of "
     "them)",
     first_to_reach, small_mnist},
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
     explains, small_trust},
    {"as-fast", "a triton implementation of SQS runs in time on par", "section 4, appendix C",
     "at most 1.05 times the time of each of the four", as_fast, small_timing},
    {"depth", "where a bilinear stack stops training, SQS goes on", "not in the paper",
     "at every depth at which bilinear is more than 5 points below its best depth, SQS is not (in part: at "
     "one)",
     deeper, small_depth, false},
};

}  // namespace

Findings judge(const Measured& measured) {
  Findings findings;
  for (const Rule& rule : kRules) {
    Ruling ruling = rule.judge(measured);
    const std::string less = rule.smaller(measured);
    std::string why;
    if (ruling.verdict == Verdict::not_tested) {
      why = ruling.measured.empty() ? less : ruling.measured.substr(0, ruling.measured.find(';'));
      if (why.empty()) why = "its experiment was not run";
      if (ruling.measured.empty()) ruling.measured = kNotRun;
    } else if (!less.empty()) {
      why = less;
      ruling.measured +=
          " (" + less + "; by themselves these numbers would say: " + text(name(ruling.verdict)) + ")";
      ruling.verdict = Verdict::not_tested;
    }
    findings.push_back(
        {rule.id, rule.quote, rule.place, rule.rule, ruling.measured, ruling.verdict, rule.in_paper, why});
  }
  // A part speaks of the claims that it touches.
  if (measured.what != "all") std::erase_if(findings, [](const Finding& f) { return f.measured == kNotRun; });
  return findings;
}

}  // namespace glint
