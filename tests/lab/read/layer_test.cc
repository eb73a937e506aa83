// A layer from arrays: read as its definition says, and refused where it makes no sense.
#include "glint/lab/read/layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "glint/base/error.h"
#include "glint/lab/work/train.h"

namespace glint {
namespace {

struct LayerCase {
  Matrix<float> left, right, projection, inputs;
  Matrix<double> direction;
  LayerCase(size_t d, size_t h, size_t o, size_t n)
      : left(h, d), right(h, d), projection(o, h), inputs(n, d), direction(1, o) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (Matrix<float>* m : {&left, &right, &projection, &inputs})
      for (float& v : m->span()) v = normal(generator);
    for (double& v : direction.span()) v = normal(generator);
  }
  LayerArrays arrays(GateKind kind) const {
    return {.left = left, .right = right, .projection = projection, .gate = {kind, {}}};
  }
};

double value_of(const UnitForm& unit, std::span<const float> x) {
  double sum = unit.constant;
  for (size_t k = 0; k < unit.spectrum.count(); k++) {
    double dot = 0;
    for (size_t j = 0; j < x.size(); j++) dot += unit.spectrum.vectors(k, j) * x[j];
    sum += unit.spectrum.values[k] * dot * dot;
  }
  for (size_t j = 0; j < unit.linear.size() && j < x.size(); j++) sum += unit.linear[j] * x[j];
  return sum;
}

TEST(Layer, TheFormOfABilinearLayerIsTheLayer) {
  const Engine engine({.threads = 2});
  const LayerCase c(7, 11, 3, 40);
  const LayerReading r =
      read_layer(engine, c.arrays(GateKind::Identity), {.directions = c.direction, .inputs = c.inputs});
  EXPECT_EQ(r.form, Form::scaled);
  EXPECT_EQ(r.fitted, 20u);
  EXPECT_EQ(r.measured, 20u);
  ASSERT_TRUE(r.reading && r.linear);
  EXPECT_NEAR(r.reading->fidelity.r2, 1, 1e-9);
  EXPECT_LT(r.linear->r2, 0.9);
  const Matrix<double> y = layer_values(engine, c.arrays(GateKind::Identity), c.inputs);
  const Matrix<double> f = form_values(engine, c.arrays(GateKind::Identity), c.direction, r.line, c.inputs);
  for (size_t i = 0; i < c.inputs.rows(); i++) {
    double own = 0;
    for (size_t o = 0; o < 3; o++) own += c.direction(0, o) * y(i, o);
    // Pre-activations are floats: a relative 1e-5 of sums of some tens of products.
    EXPECT_NEAR(value_of(r.units[0], c.inputs.view().row(i)), own, 1e-4 * (1 + std::fabs(own)));
    EXPECT_NEAR(f(i, 0), own, 1e-4 * (1 + std::fabs(own)));
  }
}

TEST(Layer, FormsAreChosenByGateAndData) {
  const Engine engine({.threads = 1});
  const LayerCase c(5, 8, 2, 30);
  const auto form = [&](GateKind kind, bool data) {
    LayerReadRequest q{.directions = c.direction};
    if (data) q.inputs = c.inputs;
    return read_layer(engine, c.arrays(kind), q).form;
  };
  EXPECT_EQ(form(GateKind::Sqs, false), Form::weights);
  EXPECT_EQ(form(GateKind::Sqs, true), Form::scaled);
  EXPECT_EQ(form(GateKind::Silu, true), Form::calibrated);
}

TEST(Layer, ANormIsAppliedAndItsWeightsAreFolded) {
  const Engine engine({.threads = 1});
  const LayerCase c(6, 9, 2, 10);
  const std::vector<float> g = {0.5f, 1, 2, 1.5f, 0.25f, 3};
  LayerArrays normed = c.arrays(GateKind::Silu);
  normed.norm = true, normed.norm_weights = g;
  Matrix<float> x(10, 6);
  for (size_t i = 0; i < 10; i++) {
    double squares = 0;
    for (size_t j = 0; j < 6; j++) squares += static_cast<double>(c.inputs(i, j)) * c.inputs(i, j);
    for (size_t j = 0; j < 6; j++) x(i, j) = static_cast<float>(c.inputs(i, j) / std::sqrt(squares / 6 + 1e-6)) * g[j];
  }
  const Matrix<double> a = layer_values(engine, normed, c.inputs);
  const Matrix<double> b = layer_values(engine, c.arrays(GateKind::Silu), x);
  // Two roundings of a weight and an input more or less, in sums of 6 and 9 products.
  for (size_t i = 0; i < a.size(); i++) EXPECT_NEAR(a.data()[i], b.data()[i], 1e-4 * (1 + std::fabs(b.data()[i])));
}

TEST(Layer, WhatDoesNotFitIsRefused) {
  const Engine engine({.threads = 1});
  const LayerCase c(5, 8, 2, 30);
  const auto code = [&](const LayerArrays& layer, const LayerReadRequest& q) {
    try {
      read_layer(engine, layer, q);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::failure;
  };
  const LayerArrays good = c.arrays(GateKind::Silu);
  LayerArrays bad = good;
  bad.right = c.right.view().row_range(0, 3);
  EXPECT_EQ(code(bad, {.directions = c.direction}), ErrorCode::usage);
  const Matrix<double> wide(1, 3);
  EXPECT_EQ(code(good, {.directions = wide}), ErrorCode::usage);
  EXPECT_EQ(code(good, {.directions = c.direction, .inputs = c.inputs, .form = "scaled"}), ErrorCode::usage);
  EXPECT_EQ(code(good, {.directions = c.direction, .form = "calibrated"}), ErrorCode::usage);
  EXPECT_EQ(code(good, {.directions = c.direction, .inputs = c.inputs.view().row_range(0, 1)}), ErrorCode::usage);
  Matrix<float> broken = c.left;
  broken(0, 0) = std::nanf("");
  bad = good;
  bad.left = broken;
  EXPECT_EQ(code(bad, {.directions = c.direction}), ErrorCode::numeric);
  const Matrix<float> much(2, kFullWidth + 1);
  const Matrix<double> u(1, 2);
  EXPECT_EQ(code({.left = much, .right = much}, {.directions = u}), ErrorCode::usage);
}

TEST(Layer, DataInMemoryAreTrainedOnWithoutAName) {
  Dataset set;
  set.name = "arrays";
  EXPECT_FALSE(training_options("", {}, {}, &set).options.text);
  EXPECT_EQ(training_options("", {}, {}, &set).label, "arrays");
  EXPECT_THROW(training_options("", {{"data", "mnist"}}, {}, &set), Error);
  EXPECT_THROW(training_options("", {{"heads", "2"}}, {}, &set), Error);  // for stories
}

}  // namespace
}  // namespace glint
