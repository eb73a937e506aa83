#include "glint/lab/read/read_forms.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/lab/models/image_run.h"
#include "glint/spectra/controls.h"

namespace glint {
namespace {

// Forms that are the same are read once: shifts that are all 0 are none.
bool same(GateTerms a, GateTerms b) {
  for (GateTerms* t : {&a, &b})
    if (!has_linear_part(*t)) *t = without_linear_part(std::move(*t));
  return a == b;
}

}  // namespace

Directions all_classes(Run& run) { return run.image().reading().classes(); }

ControlLevel asked_controls(const std::string& word) {
  if (word == "none") return ControlLevel::none;
  if (word == "linear") return ControlLevel::linear;
  if (word == "all") return ControlLevel::all;
  bad_argument("controls", "unknown controls '" + word + "'", suggest(word, {"none", "linear", "all"}));
}

Controls controls_of(Run& run, const DirectionsOf& directions, const std::vector<Form>& forms,
                     const Activations& measured) {
  Controls out;
  {
    const Directions d = directions(run);
    out.linear = linear_control(run.reading(), d, run.fitted(d.layer), measured);
  }
  if (forms.empty() || !run.has_untrained()) return out;
  Run& twin = run.untrained();
  const Directions d = directions(twin);
  const Activations a = twin.measured(d.layer);
  for (const Form form : forms) out.untrained[form] = whole_fidelity(twin.reading(), d, twin.line(form, d.layer), a);
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

const FormReading& FormsReading::of(Form form) const { return *std::ranges::find(forms, form, &FormReading::form); }

FormsReading read_forms(Run& run, const DirectionsOf& directions, const Activations& a, const FormsWanted& wanted) {
  const GluModel& model = run.reading();
  const Directions d = directions(run);
  const std::vector<Form> all = wanted.forms.empty() ? run.forms() : wanted.forms;
  const MirroredModel mirror = mirrored_model(model, d, a);
  FormsReading out;
  for (const Form form : all) {
    FormReading next{.form = form, .line = run.line(form, d.layer), .reading = nullptr, .cut = nullptr};
    if (!out.forms.empty() && same(out.forms.back().line, next.line)) {
      next.reading = out.forms.back().reading, next.cut = out.forms.back().cut;
    } else {
      next.reading = std::make_shared<const Reading>(read(model, d, next.line, a, wanted.pairs, &mirror));
      if (d.decisions) next.cut = std::make_shared<const TruncationCurve>(truncation(model, *next.reading, a));
    }
    out.forms.push_back(std::move(next));
  }
  if (wanted.controls != ControlLevel::none)
    out.controls = controls_of(run, directions, wanted.controls == ControlLevel::all ? all : std::vector<Form>{}, a);
  return out;
}

std::vector<Form> distinct_forms(const Run& run) {
  return run.gate() == GateKind::Identity ? std::vector{Form::weights} : run.forms();
}

Wanted wanted_pairs(const GluLayerView& layer, size_t top) {
  return {.strongest = layer.width() > kFullWidth ? top : 0};
}

}  // namespace glint
