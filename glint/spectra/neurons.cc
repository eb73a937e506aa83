#include "glint/spectra/neurons.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"

namespace glint {
namespace {

constexpr size_t kNeuronTile = 64;

double cosine(double dot, double square_a, double square_b) {
  const double lengths = std::sqrt(square_a) * std::sqrt(square_b);
  return lengths > 0 ? dot / lengths : 0;
}

struct NeuronSums {
  double gate = 0, up = 0, down = 0, gate_up = 0, gate_down = 0, up_down = 0;
};

}  // namespace

std::string_view name(NeuronClass kind) {
  constexpr std::string_view kNames[kNeuronClasses] = {
      "strengthening", "conditional strengthening", "proportional strengthening",
      "orthogonal",    "conditional weakening",     "weakening"};
  return kNames[static_cast<size_t>(kind)];
}

NeuronClass neuron_class(const Neuron& n, double threshold) {
  const bool along_gate = std::fabs(n.gate_down) > threshold;
  if (n.up_down > threshold) return along_gate ? NeuronClass::strengthening : NeuronClass::conditional_strengthening;
  if (n.up_down < -threshold) return along_gate ? NeuronClass::weakening : NeuronClass::conditional_weakening;
  return along_gate ? NeuronClass::proportional_strengthening : NeuronClass::orthogonal;
}

std::vector<Neuron> layer_neurons(ThreadPool& pool, const GluLayerView& layer, const WeightRows& projection) {
  const size_t h = layer.hidden(), d = layer.inputs();
  if (projection.rows() != d || projection.cols() != h)
    bad_argument("projection", "it is " + std::to_string(projection.rows()) + " x " + std::to_string(projection.cols()),
                 std::to_string(d) + " x " + std::to_string(h) + ": a layer that writes where it reads");
  std::vector<Neuron> out(h);
  pool.for_tiles((h + kNeuronTile - 1) / kNeuronTile, [&](size_t tile, size_t) {
    const size_t first = tile * kNeuronTile, count = std::min(kNeuronTile, h - first);
    std::array<NeuronSums, kNeuronTile> sums;
    std::array<float, kNeuronTile> p;
    Matrix<float> gates, ups;
    const ConstMatrixView<float> left = layer.left.floats({first, count}, gates),
                                 right = layer.right.floats({first, count}, ups);
    // Along the rows of P, in which the neurons of a tile lie side by side.
    for (size_t i = 0; i < d; i++) {
      projection.columns(i, first, std::span(p).first(count));
      for (size_t j = 0; j < count; j++) {
        const double gate = left(j, i), up = right(j, i), down = p[j];
        NeuronSums& s = sums[j];
        s.gate += gate * gate, s.up += up * up, s.down += down * down;
        s.gate_up += gate * up, s.gate_down += gate * down, s.up_down += up * down;
      }
    }
    for (size_t j = 0; j < count; j++) {
      const NeuronSums& s = sums[j];
      if (!std::isfinite(s.gate + s.up + s.down))
        throw Error({.code = ErrorCode::numeric,
                     .what = "the weights of hidden unit " + std::to_string(first + j + 1) + " are no numbers"});
      const double sign = s.gate_up < 0 ? -1 : 1;
      out[first + j] = {.gate_up = sign * cosine(s.gate_up, s.gate, s.up),
                        .gate_down = sign * cosine(s.gate_down, s.gate, s.down),
                        .up_down = cosine(s.up_down, s.up, s.down)};
    }
  });
  return out;
}

NeuronCounts count_classes(std::span<const Neuron> neurons, double threshold) {
  NeuronCounts counts{};
  for (const Neuron& n : neurons) counts[static_cast<size_t>(neuron_class(n, threshold))]++;
  return counts;
}

}  // namespace glint
