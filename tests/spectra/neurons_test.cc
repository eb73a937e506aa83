// Classes of neurons: every one from weights whose cosines are known, at any signs and lengths.
#include "glint/spectra/neurons.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fixtures.h"

namespace glint {
namespace {

using namespace fixtures;

// A neuron a row, in a space of 8: gate, up and down in the plane of the first three axes.
struct Made {
  double gate[3], up[3], down[3];
  NeuronClass kind;
};
constexpr double kHalf = 0.5, kRoot = 0.8660254037844386;  // an angle of 60 degrees
const Made kMade[] = {{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, NeuronClass::strengthening},
                      {{0, 1, 0}, {1, 0, 0}, {1, 0, 0}, NeuronClass::conditional_strengthening},
                      {{1, 0, 0}, {0, 1, 0}, {1, 0, 0}, NeuronClass::proportional_strengthening},
                      {{1, 0, 0}, {0, 1, 0}, {-1, 0, 0}, NeuronClass::proportional_strengthening},
                      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, NeuronClass::orthogonal},
                      {{0, 1, 0}, {1, 0, 0}, {-1, 0, 0}, NeuronClass::conditional_weakening},
                      {{1, 0, 0}, {1, 0, 0}, {-1, 0, 0}, NeuronClass::weakening},
                      // On the threshold, and a little beyond it.
                      {{0, 0, 1}, {1, 0, 0}, {kHalf - 1e-3, kRoot, 0}, NeuronClass::orthogonal},
                      {{0, 0, 1}, {1, 0, 0}, {kHalf + 1e-3, kRoot, 0}, NeuronClass::conditional_strengthening},
                      // A neuron that writes nothing.
                      {{1, 0, 0}, {1, 0, 0}, {0, 0, 0}, NeuronClass::orthogonal}};
constexpr size_t kCount = std::size(kMade), kRepeat = 20, kWide = 8;

struct MadeLayer {
  // Every second copy has up and down negated, which is the same neuron; lengths differ.
  MadeLayer() : left(kCount * kRepeat, kWide), right(kCount * kRepeat, kWide), down(kWide, kCount * kRepeat) {
    for (size_t i = 0; i < left.rows(); i++) {
      const Made& m = kMade[i % kCount];
      const double sign = i / kCount % 2 ? -1 : 1, length = 0.1 + static_cast<double>(i % 7);
      for (size_t j = 0; j < 3; j++) {
        left(i, j + 2) = static_cast<float>(length * m.gate[j]);
        right(i, j + 2) = static_cast<float>(sign * m.up[j] / length);
        down(j + 2, i) = static_cast<float>(sign * length * m.down[j]);
      }
    }
  }
  GluLayerView view() const { return {.left = left, .right = right, .bias_left = {}, .bias_right = {}, .gate = {}}; }
  Matrix<float> left, right, down;
};

TEST(Neurons, ClassesFollowFromTheCosines) {
  const MadeLayer layer;
  ThreadPool one(1), two(2);
  const std::vector<Neuron> neurons = layer_neurons(one, layer.view(), layer.down);
  ASSERT_EQ(neurons.size(), kCount * kRepeat);
  NeuronCounts expected{};
  for (size_t i = 0; i < neurons.size(); i++) {
    const Made& m = kMade[i % kCount];
    EXPECT_EQ(name(neuron_class(neurons[i])), name(m.kind)) << i;
    EXPECT_GE(neurons[i].gate_up, 0);
    expected[static_cast<size_t>(m.kind)]++;
  }
  EXPECT_EQ(count_classes(neurons), expected);
  const std::vector<Neuron> again = layer_neurons(two, layer.view(), layer.down);
  for (size_t i = 0; i < neurons.size(); i++) EXPECT_EQ(neurons[i].up_down, again[i].up_down);
}

// Where cos(gate, up) < 0 the signs of up and down change: cos(gate, down) with them, cos(up, down) not.
TEST(Neurons, SignsOfUpAndDownGoTogether) {
  Matrix<float> gate(1, 2), up(1, 2), down(2, 1);
  gate(0, 0) = 1, up(0, 0) = -3, up(0, 1) = 4, down(0, 0) = 2;
  ThreadPool pool(1);
  const GluLayerView view{.left = gate, .right = up, .bias_left = {}, .bias_right = {}, .gate = {}};
  const Neuron n = layer_neurons(pool, view, down)[0];
  EXPECT_DOUBLE_EQ(n.gate_up, 0.6);
  EXPECT_DOUBLE_EQ(n.gate_down, -1);
  EXPECT_DOUBLE_EQ(n.up_down, -0.6);
  EXPECT_EQ(neuron_class(n), NeuronClass::weakening);
}

TEST(Neurons, WhatDoesNotFitIsRefused) {
  MadeLayer layer;
  ThreadPool pool(1);
  EXPECT_THROW(layer_neurons(pool, layer.view(), ConstMatrixView<float>(layer.down.data(), 4, 20)), Error);
  layer.right(3, 3) = std::numeric_limits<float>::quiet_NaN();
  try {
    layer_neurons(pool, layer.view(), layer.down);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::numeric);
    EXPECT_NE(std::string(e.what()).find("hidden unit 4"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace glint
