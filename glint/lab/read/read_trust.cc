#include "glint/lab/read/read_trust.h"

#include <cmath>

#include "glint/base/text.h"

namespace glint {
namespace {

std::string two_decimals(double v) { return fixed_text(v, 2); }

// A control whose R2 is nearer than this to that of the form: what the eigenvectors show it shows, too.
constexpr double kClose = 0.15;

}  // namespace

std::string trust_sentence(const ReadResult& r) {
  if (r.inputs == 0) return "How far to trust these eigenvectors was not measured: " + r.alone + ".";
  const Trust& f = r.chosen().fidelity;
  const double linear = r.controls.linear.r2, own = f.eigenvectors_r2;
  const std::string layer = "layer " + std::to_string(r.layer + 1), form = "the " + name(r.form) + " form";
  const std::string map = "a linear map of the layer's input " + two_decimals(linear);
  if (f.r2 < kReadableR2)
    return "Do not trust these eigenvectors: " + form + " follows less than half of what " + layer + " does here (R2 " +
           two_decimals(f.r2) + ", " + map + ").";
  if (own < kReadableR2)
    return "Do not trust these eigenvectors by themselves: " + form + " of " + layer + " has R2 " + two_decimals(f.r2) +
           ", but " + two_decimals(own) + " without its linear part.";
  const std::string parts = std::fabs(own - f.r2) < 0.005 ? "" : ", its eigenvectors alone " + two_decimals(own);
  if (linear > own - kClose)
    return "Trust these eigenvectors with care: " + form + " of " + layer + " has R2 " + two_decimals(f.r2) + parts +
           ", but " + map + ".";
  return "Trust these eigenvectors for " + fixed_text(100 * own, 0) + " % of what " + layer + " does here: " + form +
         " has R2 " + two_decimals(f.r2) + parts + ", " + map + ".";
}

std::vector<std::string> trust_sentences(const std::vector<ReadForm>& forms, Form shown, const Controls& controls,
                                         size_t layer, const std::string& untrained) {
  const std::string number = std::to_string(layer + 1);
  std::vector<std::string> out;
  double best = 0;
  for (const ReadForm& f : forms) best = std::max(best, f.fidelity.r2);
  for (const ReadForm& f : forms) {
    const double r2 = f.fidelity.r2;
    if (r2 >= kReadableR2) continue;
    const std::string how = f.form == Form::weights ? "from the weights alone" : "by the " + name(f.form) + " form";
    out.push_back("Layer " + number + " cannot be read " + how + ": R2 " + two_decimals(r2) +
                  (r2 < 0 ? ", which is worse than a constant." : ", less than half of what it does."));
  }
  if (best < kReadableR2 && out.size() > 1)
    out = {"Layer " + number +
           " cannot be read along these directions: no form explains half of what it does "
           "(the best has R2 " +
           two_decimals(best) + ")."};
  for (const ReadForm& f : forms)
    if (f.form == shown && f.fidelity.r2 >= kReadableR2 && controls.linear.r2 > f.fidelity.r2)
      out.push_back("A linear map of the layer's input (R2 " + two_decimals(controls.linear.r2) +
                    ") explains more than the " + name(shown) + " form (R2 " + two_decimals(f.fidelity.r2) +
                    "): the eigenvectors may be a roundabout way to say something simple.");
  for (const ReadForm& f : forms) {
    const auto twin = controls.untrained.find(f.form);
    if (f.form != shown || f.fidelity.r2 < kReadableR2 || twin == controls.untrained.end()) continue;
    if (twin->second.r2 <= f.fidelity.r2 - kClose) continue;
    out.push_back("The same form of " + untrained + " has R2 " + two_decimals(twin->second.r2) +
                  ", about as much: that layer " + number +
                  " can be read comes with its shape; what the model has learned is what the eigenvectors say.");
  }
  return out;
}

void add_missing_control(const Run& run, std::vector<std::string>& sentences) {
  if (!run.has_untrained())
    sentences.push_back("There is no control with redrawn matrices: the model has more than " +
                        std::to_string(LanguageRun::kTwinParameters >> 30) + " billion parameters.");
}

}  // namespace glint
