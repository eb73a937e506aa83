// The neurons of a GLU layer by what they read and write. A neuron is a hidden unit with its three weights:
// gate and up, rows of the left and the right half with the norm before the layer folded in, and down, its
// column of the projection. It reads the stream along gate and up and writes to it along down:
//
//   f(x) = sigma(gate . x) (up . x) down
//
// Changing the signs of up and down together changes nothing, so both are taken such that cos(gate, up) >= 0.
// What is left are two cosines, and a threshold t on each (Gerstner and Schütze 2025):
//
//                        |cos(gate, down)| <= t       |cos(gate, down)| > t
//   cos(up, down) >  t   conditional strengthening    strengthening
//   in between           orthogonal                   proportional strengthening
//   cos(up, down) < -t   conditional weakening        weakening
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "glint/base/threads.h"
#include "glint/spectra/interaction.h"

namespace glint {

enum class NeuronClass {
  strengthening,
  conditional_strengthening,
  proportional_strengthening,
  orthogonal,
  conditional_weakening,
  weakening,
};
inline constexpr size_t kNeuronClasses = 6;
std::string_view name(NeuronClass kind);  // "conditional strengthening"

inline constexpr double kNeuronThreshold = 0.5;

// Cosines after the signs were taken; those with a vector of length 0 are 0.
struct Neuron {
  double gate_up = 0, gate_down = 0, up_down = 0;
};
NeuronClass neuron_class(const Neuron& neuron, double threshold = kNeuronThreshold);

// Of every hidden unit of a layer. `projection` is P [d, h]; biases take no part. Error (numeric) for weights
// that are no numbers.
std::vector<Neuron> layer_neurons(ThreadPool& pool, const GluLayerView& layer, const WeightRows& projection);

using NeuronCounts = std::array<size_t, kNeuronClasses>;
NeuronCounts count_classes(std::span<const Neuron> neurons, double threshold = kNeuronThreshold);

}  // namespace glint
