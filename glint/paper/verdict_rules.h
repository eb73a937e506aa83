// The rules behind verdicts.h, by kind of claim: rules_training.cc, rules_reading.cc; and what was smaller
// than the paper's experiment: rules_scale.cc. Only these, verdicts.cc and their tests use this header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glint/base/statistics.h"
#include "glint/base/text.h"
#include "glint/paper/measured.h"
#include "glint/report/report_page.h"

namespace glint {

// A verdict, and the numbers that it rests on in words.
struct Ruling {
  Verdict verdict = Verdict::not_tested;
  std::string measured = {};
};

// The data that a rule looks at: the paper's, or those that are there in their place.
struct Scope {
  std::vector<std::string> images;  // claims about both image sets
  std::string mnist, fashion;       // claims about one of them
  std::string stories;
};
Scope paper_scope();
Scope scope_of(const Measured& m);  // what was run

// What a claim is about.
enum class About { images, mnist, fashion, stories, timing };
std::string words(const Scope& scope, About about);  // "MNIST and Fashion-MNIST"

// ---- Training.
Ruling loss_below(const Measured& m, const Scope& s);
Ruling converges_faster(const Measured& m, const Scope& s);
Ruling lowest_loss(const Measured& m, const Scope& s);
Ruling first_to_reach(const Measured& m, const Scope& s);
Ruling convergence_near(const Measured& m, const Scope& s);
Ruling data_efficiency(const Measured& m, const Scope& s);
Ruling accuracy_on_par(const Measured& m, const Scope& s);
Ruling comparable_loss(const Measured& m, const Scope& s);
Ruling best_stories(const Measured& m, const Scope& s);
Ruling deeper(const Measured& m, const Scope& s);
Ruling advantage_with_norm(const Measured& m, const Scope& s);
Ruling as_fast(const Measured& m, const Scope& s);

// ---- Reading.
Ruling top_similarity(const Measured& m, const Scope& s);
Ruling least_similarity(const Measured& m, const Scope& s);
Ruling control_similarity(const Measured& m, const Scope& s);
Ruling distinct_classes(const Measured& m, const Scope& s);
Ruling best_choice(const Measured& m, const Scope& s);
Ruling few_dominate(const Measured& m, const Scope& s);
Ruling explains(const Measured& m, const Scope& s);
Ruling language_readable(const Measured& m, const Scope& s);

// ---- What was smaller than the paper's experiment; empty: nothing.
std::string small_images(const Measured& m);
std::string small_mnist(const Measured& m);
std::string small_fashion(const Measured& m);
std::string small_stories(const Measured& m);
std::string small_spectra(const Measured& m);
std::string small_similarity(const Measured& m);
std::string small_matches(const Measured& m);
std::string small_choices(const Measured& m);
std::string small_trust(const Measured& m);
std::string small_depth(const Measured& m);
std::string small_norm(const Measured& m);
std::string small_timing(const Measured& m);
std::string small_language(const Measured& m);

// ---- Words and comparisons that they share.
inline constexpr std::string_view kRivals[] = {"relu", "gelu", "silu", "identity"};

inline Verdict tally(size_t won, size_t of) {
  return of == 0 ? Verdict::not_tested : won == of ? Verdict::holds : won ? Verdict::in_part : Verdict::fails;
}
inline std::string text(std::string_view s) { return std::string(s); }
inline std::string number(double v, int decimals = 4) { return fixed_text(v, decimals); }
inline std::string percent(double share, int decimals = 1) { return fixed_text(100 * share, decimals) + " %"; }
inline double mean(const std::vector<double>& v) { return mean_and_sd(v).mean; }
inline void join(std::string& all, const std::string& more, const char* between = "; ") {
  all += (all.empty() ? "" : between) + more;
}
// With one seed there is no interval: then the sign speaks.
inline bool lower(const PairedDifference& d) { return d.n < 2 ? d.n == 1 && d.mean < 0 : d.below(); }
inline bool higher(const PairedDifference& d) { return d.n < 2 ? d.n == 1 && d.mean > 0 : d.above(); }
inline const char* clearly(size_t n) { return n < 2 ? "" : "clearly "; }
std::string interval_text(const PairedDifference& d, int decimals = 4);  // "-0.0123 (-0.0150 to -0.0096)"
// All five gates have runs; the fewest runs of a gate.
bool complete(const Measured& m, std::string_view data);
size_t seeds(const TaskRuns& task);

}  // namespace glint
