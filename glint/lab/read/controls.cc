#include "glint/lab/read/controls.h"

#include "glint/base/error.h"
#include "glint/spectra/controls.h"

namespace glint {

ControlLevel asked_controls(const std::string& word) {
  if (word == "none") return ControlLevel::none;
  if (word == "linear") return ControlLevel::linear;
  if (word == "all") return ControlLevel::all;
  throw Error({.code = ErrorCode::usage,
               .what = "unknown controls '" + word + "'",
               .where = "controls",
               .expected = suggest(word, {"none", "linear", "all"})});
}

Controls controls_of(Run& run, const DirectionsOf& directions, const std::vector<Form>& forms,
                     const Activations& measured, std::span<const uint32_t> labels) {
  Controls out;
  {
    const Directions d = directions(run);
    out.linear = linear_control(run.reading(), d, run.fitted(d.layer), measured, labels);
  }
  if (forms.empty() || !run.has_untrained()) return out;
  Run& twin = run.untrained();
  const Directions d = directions(twin);
  const Activations a = twin.measured(d.layer);
  for (const Form form : forms)
    out.untrained[form] = form_fidelity(twin.reading(), d, twin.line(form, d.layer), a, labels, Mirrored::no);
  return out;
}

Controls layer_controls(LanguageRun& run, size_t layer, const std::vector<Form>& forms) {
  const auto all = [&](Run& of) {
    const size_t d = of.language().reading().width();
    Matrix<double> each(d, d);
    for (size_t i = 0; i < d; i++) each(i, i) = 1;
    return of.reading().directions(layer, each, std::vector<std::string>(d));
  };
  return controls_of(run, all, forms, run.measured(layer));
}

}  // namespace glint
