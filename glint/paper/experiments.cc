#include "glint/paper/plan.h"

#include "glint/base/error.h"
#include "glint/paper/measure.h"
#include "glint/paper/write.h"

namespace glint {

const std::vector<Experiment>& experiments() {
  using enum RunSet;
  static const std::vector<Experiment> kTable = {
      {"table1", "Table 1: performance", {section_42, stories}, {measure_images, measure_stories}, write_table1},
      {"fig3", "Figure 3: training curves", {section_42}, {measure_images}, write_figure3},
      {"fig2",
       "Figure 2: eigenvectors",
       {section_41_pairs},
       {measure_features, measure_similarity, measure_matches},
       write_figure2},
      {"fidelity", "Fidelity of the forms", {section_41_pairs, section_41_others}, {measure_trust}, write_fidelity},
      {"choice", "The choice of \xce\xbb and c", {section_41_pairs, choices}, {measure_choices}, write_choices},
      {"depth", "Depth", {depth}, {measure_depth}, write_depth},
      {"norm",
       "With a norm",
       {section_42, norm_42, depth, depth_others, depth_norm},
       {measure_images, measure_depth},
       write_norm},
      {"spectra", "Appendix B: spectra", {section_41_pairs}, {measure_class_spectra, measure_spectra}, write_spectra},
      {"explain", "Appendix B: a decision explained", {section_41_pairs}, {measure_explanation}, write_explanation},
      {"timing", "Appendix C: time of a gate", {}, {measure_timing}, write_timing},
      {"stories", "Appendix D: stories", {stories}, {measure_stories, measure_samples}, write_stories},
      {"language", "Reading language models", {stories}, {measure_stories, measure_language}, write_language},
      {"fig1", "Figure 1: the gates", {}, {}, write_gates},
      {"formulas", "Formulas", {}, {measure_formulas}, write_formulas},
  };
  return kTable;
}

std::vector<Experiment> chosen_experiments(const std::string& what) {
  if (what == "all") return experiments();
  std::vector<std::string> names = {"all"};
  for (const Experiment& e : experiments()) {
    if (e.name == what) return {e};
    names.push_back(e.name);
  }
  throw Error({.code = ErrorCode::usage,
               .what = "there is no experiment '" + what + "'",
               .where = "what",
               .expected = suggest(what, names)});
}

}  // namespace glint
