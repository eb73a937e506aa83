#include "glint/lab/read/read_trust.h"

#include "glint/base/text.h"

namespace glint {
namespace {

std::string two_decimals(double v) { return fixed_text(v, 2); }

}  // namespace

std::vector<std::string> trust_sentences(const std::vector<ReadForm>& forms, Form shown, const Controls& controls,
                                         size_t layer) {
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
  return out;
}

void add_missing_control(const Run& run, std::vector<std::string>& sentences) {
  if (!run.has_untrained())
    sentences.push_back("There is no control with redrawn matrices: the model has more than " +
                        std::to_string(LanguageRun::kTwinParameters >> 30) + " billion parameters.");
}

}  // namespace glint
