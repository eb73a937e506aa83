#include "glint/paper/verdict_rules.h"
#include "glint/paper/verdicts.h"

#include "glint/paper/measured.h"
#include "glint/paper/reproduction_tables.h"

namespace glint {
namespace {

struct Rule {
  const char *id, *quote, *place, *rule;
  Ruling (*judge)(const Measured&, const Scope&);
  std::string (*smaller)(const Measured&);
  About about = About::images;
  bool in_paper = true;
};

// "Clearly": the 95 % confidence interval of the paired difference over seeds leaves out 0.
const Rule kRules[] = {
    {"data-efficiency", "performance and data efficiency on par with current activation functions", "introduction",
     "at most 1.1 times the steps of SwiGLU and of GELU to the losses that they have after 10, 25, 50 and 75 "
     "% of their training, on both data sets (in part: at some of these)",
     data_efficiency, small_images},
    {"best-choice",
     "\xce\xbb = .5, c = .01 ... yields the most interpretable eigenvectors whilst maintaining performance",
     "section 4",
     "no other choice of \xce\xbb or c has a weights form that clearly agrees more often with its model at "
     "an accuracy no more than 0.5 points lower, and none is more than 0.5 points more accurate, on both "
     "data sets (in part: on one)",
     best_choice, small_choices},
    {"as-fast", "a triton implementation of SQS runs in time on par", "section 4, appendix C",
     "on the CPU, in glint's own kernels, at most 1.05 times the time of each of the four; the paper's "
     "Triton kernel is not tested",
     as_fast, small_timing, About::timing},
    {"distinct-classes", "these eigenvectors can be seen to correspond to distinct classes", "section 4.1, figure 2A",
     "on both data sets, for 8 of 10 classes the strongest eigenvector is most like the mean image of that "
     "class, and no two classes have the same picture, |cos| of .9 and more (in part: one data set, or half "
     "of the classes)",
     distinct_classes, small_matches},
    {"similarity-top", "cosine similarity ... .95 for the most important eigenvectors", "section 4.1, figure 2B",
     "mean similarity of the first eigenvectors is at least 0.95 and not clearly below that of two bilinear "
     "models of different seeds on both data sets, in one of the ways to pair them (by rank or best pairs, "
     "either form, either space); in part: on one data set",
     top_similarity, small_similarity},
    {"similarity-least", "cosine similarity ... never below .5", "section 4.1, figure 2B",
     "mean similarity is at least 0.5 at every rank shown, and where it is least not clearly below the "
     "control, on both data sets, in one of the ways to pair them; in part: on one data set",
     least_similarity, small_similarity},
    {"similarity-control", "supporting the notion that SQS-GLU retains the interpretability of Bilinear MLPs",
     "section 4.1, figure 2B",
     "the first eigenvectors of SQS and bilinear models (by rank, as pictures) are not clearly less alike "
     "than those of two bilinear models of different seeds, on both data sets (in part: on one)",
     control_similarity, small_similarity},
    {"loss-below", "outperforms both the ReLU-GLU and Bilinear MLP at all intermediate checkpoints",
     "section 4.2.1, table 1", "loss clearly lower than both, at all four checkpoints of both data sets", loss_below,
     small_images},
    {"converges-faster", "converges faster ... than both ReLU-GLUs and Bilinear MLPs", "section 4.2.1, figure 3",
     "for every seed, SQS reaches the rival's last loss before the rival does", converges_faster, small_images},
    {"convergence-near", "with a convergence rate near that of SwiGLU and GELU", "section 4.2.1, figure 3",
     "at most 1.25 times the steps of either to the losses that it has after 10, 25, 50 and 75 % of its "
     "training, on both data sets (in part: at some of these)",
     convergence_near, small_images},
    {"lowest-loss", "loss lower than all other activation functions at the end of training", "section 4.2.1",
     "loss at the end clearly lower than all four, on both data sets", lowest_loss, small_images},
    {"first-to-reach", "the first to reach 80%, 85%, and 90% accuracy", "section 4.2.1, figure 3",
     "on MNIST clearly fewer steps than all four, for each of the three, with a test after every step up to "
     "200 (in part: the fewest for one of them)",
     first_to_reach, small_mnist, About::mnist},
    {"accuracy-on-par", "end-of-training accuracy on par with all other tested activation functions", "section 4.2.1",
     "at most 0.5 points below the best rival, on both data sets", accuracy_on_par, small_images},
    {"comparable-loss", "[on FMNIST] final loss being comparable to that of the best-performing", "section 4.2.1",
     "at most 1.1 times the lowest loss (in part: 1.25 times)", comparable_loss, small_fashion, About::fashion},
    {"best-stories", "best performance both in terms of loss and perplexity at the 50%, 75%, and 100% steps",
     "section 4.2.2, table 1", "clearly lower than all four, at three checkpoints, in both", best_stories,
     small_stories, About::stories},
    {"few-dominate", "the first few eigenvectors ... consistently significantly more important", "appendix B",
     "five eigenvectors carry half of the squared eigenvalues of every class of MNIST, and more than in an "
     "untrained model (in part: on average over the classes)",
     few_dominate, small_spectra, About::mnist},
    {"explains", "eigenvectors of SQS-GLUs can be used to explain why certain inputs were classified", "appendix B",
     "the eigenvectors of the weights form, without any linear part, decide as the model on 90 % of both "
     "test sets (in part: those of a form that was fitted to data)",
     explains, small_trust},
    {"depth", "where a bilinear stack stops training, SQS goes on", "not in the paper",
     "at every depth at which bilinear is more than 5 points below its best depth, SQS is not (in part: at "
     "one)",
     deeper, small_depth, About::images, false},
    {"advantage-with-norm", "with an RMS norm before every layer SQS still has a lower loss than bilinear",
     "not in the paper", "loss at the end clearly lower, on both data sets (in part: on one)", advantage_with_norm,
     small_norm, About::images, false},
    {"language-readable", "at equal loss, SQS language models are more readable than SwiGLU's", "not in the paper",
     "loss at most 1.01 times that of SwiGLU, and in every layer the eigenvectors of each form explain more "
     "(weights: correlation; fitted forms: R2 without the linear part), the 95 % bootstrap intervals apart "
     "(in part: in some)",
     language_readable, small_language, About::stories, false},
};

// The rule of "as-fast" on the times of a GPU: a second column of the claim.
std::string on_gpu(const Rule& rule, const Measured& measured, const Scope& scope) {
  if (rule.judge != as_fast || measured.gpu_times.empty()) return "";
  Measured gpu;
  gpu.timing = timing_numbers(measured.gpu_times);
  const Ruling ruling = rule.judge(gpu, scope);
  const std::string less = rule.smaller(gpu);
  return "**" + std::string(name(less.empty() ? ruling.verdict : Verdict::not_tested)) + "** on " + measured.gpu +
         ", in Triton" + (less.empty() ? "" : " (" + less + ")") + ": " + ruling.measured;
}

}  // namespace

Findings judge(const Measured& measured) {
  static const Measured kPaper = paper_measured();
  const Scope paper = paper_scope(), here = scope_of(measured);
  Findings findings;
  for (const Rule& rule : kRules) {
    Finding f{rule.id, rule.quote, rule.place, rule.rule, {}, Verdict::not_tested, rule.in_paper};
    const std::string less = rule.smaller(measured);
    const Scope& scope = less.empty() ? paper : here;
    const Ruling ruling = rule.judge(measured, scope);
    f.verdict = ruling.verdict, f.measured = ruling.measured;
    if (ruling.verdict == Verdict::not_tested) {
      f.why = ruling.measured.empty() ? less : ruling.measured.substr(0, ruling.measured.find(';'));
      if (f.why.empty()) f.why = "its experiment was not run";
      if (ruling.measured.empty()) f.measured = kNotRun;
    } else if (!less.empty()) {
      f.why = less;
      f.small = "on " + words(here, rule.about) + ": " + text(name(ruling.verdict));
      f.verdict = Verdict::not_tested;
    }
    if (rule.in_paper)
      if (const Ruling own = rule.judge(kPaper, paper); own.verdict != Verdict::not_tested)
        f.paper = name(own.verdict), f.paper_measured = own.measured;
    f.gpu = on_gpu(rule, measured, paper);
    findings.push_back(std::move(f));
  }
  // A part speaks of the claims that it touches.
  if (measured.what != "all") std::erase_if(findings, [](const Finding& f) { return f.measured == kNotRun; });
  return findings;
}

}  // namespace glint
