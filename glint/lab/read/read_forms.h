// The one way to read directions of a run through its forms, with the controls beside them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/lab/models/language_run.h"

namespace glint {

// What is read, in the run and in its untrained twin.
using DirectionsOf = std::function<Directions(Run&)>;
Directions all_classes(Run& run);

// How much is measured beside the eigenvectors, as ReadRequest has it.
enum class ControlLevel { none, linear, all };
ControlLevel asked_controls(const std::string& word);  // Error (usage)

// What fidelities have to be compared with. `measured` is what the layer of the directions sees on the data
// that readings are measured on; the linear map is fitted on Run::fitted. `forms` are those that are shown;
// without any there is no untrained twin.
Controls controls_of(Run& run, const DirectionsOf& directions, const std::vector<Form>& forms,
                     const Activations& measured);
// The same of everything that a layer of a language model adds to the residual stream.
Controls layer_controls(LanguageRun& run, size_t layer, const std::vector<Form>& forms);

struct FormReading {
  Form form = Form::weights;
  GateTerms line;
  std::shared_ptr<const Reading> reading;      // shared by forms whose lines are the same
  std::shared_ptr<const TruncationCurve> cut;  // of decisions, else null; shared as the reading is
};
struct FormsReading {
  std::vector<FormReading> forms;  // in the order of Run::forms
  Controls controls;
  const FormReading& of(Form form) const;
};
struct FormsWanted {
  std::vector<Form> forms = {};  // empty: all that the run has
  ControlLevel controls = ControlLevel::all;
  Wanted pairs = {};
};
FormsReading read_forms(Run& run, const DirectionsOf& directions, const Activations& measured,
                        const FormsWanted& wanted = {});

// The forms that say something else than others do: every form of the identity is that of the weights.
std::vector<Form> distinct_forms(const Run& run);

// `top` reaches the solver where that saves work: layers so wide that few eigenpairs come much faster than
// all.
Wanted wanted_pairs(const GluLayerView& layer, size_t top);

}  // namespace glint
