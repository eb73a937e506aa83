// The interaction matrix of one output direction of a GLU layer y = gate(L x) * (R x):
//
//   Q = 1/2 (L' diag(q) R + R' diag(q) L) + L' diag(s) L    [w, w], symmetric, in double,
//
// q and s the weights of the products of every hidden unit in that output:
// x' Q x = sum_h q_h (L x)_h (R x)_h + s_h (L x)_h^2. A layer with biases reads the input (x, 1): its Q has
// one more row and column, w = d + 1.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/kernels/gates.h"
#include "glint/spectra/eigen.h"
#include "glint/spectra/weight_rows.h"

namespace glint {

// What the analysis needs of a GLU layer, whichever model it sits in.
struct GluLayerView {
  WeightRows left;                    // [h, d], the gated half L
  WeightRows right;                   // [h, d], the linear half R
  std::span<const float> bias_left;   // [h], or empty
  std::span<const float> bias_right;  // [h], or empty
  Gate gate;
  bool normed = false;  // its input comes from a norm and always has the same length

  size_t hidden() const { return left.rows(); }
  size_t inputs() const { return left.cols(); }
  bool augmented() const { return !bias_left.empty() || !bias_right.empty(); }
  size_t width() const { return inputs() + (augmented() ? 1 : 0); }
};

// A layer with what computes on it.
struct LayerReader {
  const LinearAlgebra& linalg;
  ThreadPool& pool;
  GluLayerView layer;
};

// Rows have no factors, and the columns of both halves the same ones: those of the norm before the layer.
// Error (bad_file) when the shapes do not fit together; `where` names the layer.
void check(const GluLayerView& layer, const std::string& where);

// Pre-activations of one input x [d] (or [d + 1] with its last entry the 1), summed in double.
struct PreActivation {
  double l, r;
};
PreActivation pre_activation(const GluLayerView& layer, size_t hidden_unit, std::span<const double> x);

// Weights of the hidden units, [units, h], for output directions [units, o] behind a projection P [o, h];
// without a projection the directions are the weights.
Matrix<double> hidden_weights(const LinearAlgebra& linalg, ConstMatrixView<double> directions,
                              const WeightRows& projection);
Matrix<double> hidden_weights(const WeightRows& directions);

// q and s of one output.
struct ProductWeights {
  std::span<const double> products;      // [h]: q
  std::span<const double> squares = {};  // [h]: s, or empty: all 0
  ProductWeights(std::span<const double> q, std::span<const double> s = {}) : products(q), squares(s) {}
  ProductWeights(std::span<double> q) : products(q) {}
  ProductWeights(const std::vector<double>& q) : products(q) {}
};

// Builds Q for many q of one layer: L and R are widened once.
class InteractionBuilder {
 public:
  InteractionBuilder(const LinearAlgebra& linalg, const GluLayerView& layer);
  size_t width() const { return left_.cols(); }
  size_t hidden() const { return left_.rows(); }
  // -> out [w, w]; scratch is resized to [h, w].
  void build(const ProductWeights& q, MatrixView<double> out, Matrix<double>& scratch) const;

 private:
  const LinearAlgebra& linalg_;
  Matrix<double> left_, right_;  // [h, w], with the bias as last column
};

Matrix<double> interaction(const LinearAlgebra& linalg, const GluLayerView& layer, const ProductWeights& q);

// Q applied without forming it: y = L' (q/2 * R x + s * L x) + R' (q/2 * L x), in double. The weights are read
// as they lie, once for a few vectors. The order of the sums depends on h alone.
class InteractionOperator {
 public:
  // Keeps references.
  InteractionOperator(const LayerReader& reader);
  ~InteractionOperator();
  // For every row of x [n, w].
  void apply(const ProductWeights& q, ConstMatrixView<double> x, MatrixView<double> y);

 private:
  struct Memory;  // of one worker
  const LinearAlgebra& linalg_;
  ThreadPool& pool_;
  const GluLayerView layer_;
  Matrix<double> scaled_;                        // x with the factors of the columns
  std::vector<Matrix<double>> sums_;             // one per part of the hidden units
  std::vector<std::unique_ptr<Memory>> memory_;  // one per worker
};

// All eigenpairs of Q for every row of q [units, h] and of s, where that is not empty; one unit per tile.
std::vector<Spectrum> interaction_spectra(const LayerReader& reader, ConstMatrixView<double> q,
                                          ConstMatrixView<double> s = {}, double gap = kDefaultGap);

// Where the layer's input comes from: x = E p + b, with p the pixels or a one-hot token.
struct InputMap {
  ConstMatrixView<float> matrix;  // [d, inputs], or [inputs, d] when a row is an input (a token embedding)
  bool row_is_input = false;
  std::span<const float> bias;  // [d], or empty
};

// Eigenvectors seen in the space of the inputs: v_k . (x, 1) = maps[k] . p + offsets[k].
struct Features {
  Matrix<double> maps;          // [k, inputs]: E' v_k
  std::vector<double> offsets;  // [k]
};
Features features(const LinearAlgebra& linalg, ConstMatrixView<double> vectors, const InputMap& input);

}  // namespace glint
