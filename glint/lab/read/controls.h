// The controls of a run's readings: what its fidelities have to be compared with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glint/lab/models/language_run.h"

namespace glint {

// How much is measured beside the eigenvectors, as ReadRequest has it.
enum class ControlLevel { none, linear, all };
ControlLevel asked_controls(const std::string& word);  // Error (usage)

// What is read, in the run and in its untrained twin.
using DirectionsOf = std::function<Directions(Run&)>;

// `measured` is what the layer of the directions sees on the data that readings are measured on; the linear
// map is fitted on Run::fitted. `forms` are those that are shown;
// without any there is no untrained twin.
Controls controls_of(Run& run, const DirectionsOf& directions, const std::vector<Form>& forms,
                     const Activations& measured, std::span<const uint32_t> labels = {});

// The same of everything that a layer of a language model adds to the residual stream.
Controls layer_controls(LanguageRun& run, size_t layer, const std::vector<Form>& forms);

}  // namespace glint
