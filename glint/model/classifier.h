// The image model: embed (inputs -> d), n GLU layers, head (-> classes).
//
//   x_0 = x E^T (+ b)
//   x_{i+1} = gate(L u) * (R u), u = norm(x_i)     with residual: x_{i+1} = x_i + ...
//   logits = x_n H^T (+ b)
//
// A batch is cut into chunks of rows; a chunk goes forward and backward through all layers on one thread
// while its activations are in L2. Then the gradients of the weights are computed in tiles over the whole
// batch. Neither cut depends on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "glint/base/arena.h"
#include "glint/kernels/gates.h"
#include "glint/model/batch_share.h"
#include "glint/model/params.h"
#include "glint/nn/linear.h"

namespace glint {

enum class Norm { none, rms };

struct ClassifierConfig {
  size_t inputs = 784, classes = 10;
  size_t layers = 1;
  size_t d_model = 256;
  size_t d_hidden = 0;  // width of a GLU layer; 0: d_model
  Gate gate;
  bool bias = false, residual = false;
  Norm norm = Norm::none;
  size_t hidden() const { return d_hidden ? d_hidden : d_model; }
};

// Error (usage) naming what is outside its domain.
void check(const ClassifierConfig& config);

// Indices into the table; kNoParam where there is no bias.
struct LayerParams {
  size_t weight = kNoParam, bias = kNoParam;
};
struct ClassifierParams {
  ParamTable table;
  LayerParams embed, head;
  std::vector<LayerParams> blocks;
};
// Names: embed.weight [d, inputs], blocks.{i}.weight [2h, d] (gated half first), head.weight [classes, h],
// and .bias.
ClassifierParams classifier_params(const ClassifierConfig& config);

struct BatchResult {
  double loss = 0;  // sum over the rows
  size_t correct = 0;
};

// Computes with one set of weights on batches of up to `max_batch` rows. Allocates in the constructor only.
// Error (usage) for a configuration outside its domain and for arguments that do not fit it; Error (numeric)
// when a sum or a product overflows, at any layer.
class ClassifierEngine {
 public:
  // Writes row `row` of the batch (inputs floats).
  using RowSource = std::function<void(size_t row, float* out)>;

  ClassifierEngine(const ClassifierConfig& config, const Compute& compute, size_t max_batch, bool training);

  const ClassifierConfig& config() const { return config_; }
  const ClassifierParams& params() const { return params_; }
  size_t max_batch() const { return max_batch_; }
  // To be called after the weights changed, before the next batch. Keeps the pointer.
  void set_weights(std::span<const float> weights);

  // Labels are below the number of classes, one for every row or more.
  BatchResult evaluate(size_t rows, const RowSource& source, std::span<const uint32_t> labels);
  // Gradients of the mean loss over the batch, which has a row or more. Gaps of the buffer are left alone.
  // `logits` [rows, classes] gets the logits of the batch unless it is empty.
  BatchResult forward_backward(size_t rows, const RowSource& source, std::span<const uint32_t> labels,
                               std::span<float> gradients, MatrixView<float> logits = {});
  // The same of a batch of which these are only some rows, none or more; the result is of these alone. They
  // begin at a multiple of gradient_cut().
  BatchResult forward_backward(size_t rows, const RowSource& source, std::span<const uint32_t> labels,
                               std::span<float> gradients, const BatchShare& share);

  // Of the last batch, first `rows` rows: logits (after evaluate only: the backward pass overwrites them),
  // losses.
  ConstMatrixView<float> logits() const { return logits_; }
  std::span<const float> losses() const { return losses_; }
  // Of the last batch: what GLU layer i reads (after its norm), and the state before it.
  ConstMatrixView<float> layer_input(size_t i) const;
  ConstMatrixView<float> state(size_t i) const;
  std::span<const uint8_t> hits() const { return hits_; }

 private:
  size_t checked_layer(size_t i) const;
  void check_batch(size_t rows, const RowSource& source, std::span<const uint32_t> labels) const;
  void check_numbers(Range rows) const;
  void forward_chunk(Range rows, const RowSource& source, std::span<std::byte> scratch);
  void backward_chunk(Range rows, std::span<const uint32_t> labels, size_t batch, size_t worker,
                      std::span<std::byte> scratch);
  void forward_backward_rows(size_t rows, size_t total, const RowSource& source, std::span<const uint32_t> labels,
                             MatrixView<float> logits);
  void weight_gradients(size_t rows, bool accumulate, Range tiles, std::span<float> gradients);
  BatchResult sum_results(size_t rows) const;

  ClassifierConfig config_;
  const Compute& compute_;
  size_t max_batch_;
  bool training_;
  ClassifierParams params_;
  std::span<const float> weights_;
  PackedWeights embed_, head_;
  std::vector<PackedWeights> blocks_;

  Arena arena_;
  MatrixView<float> input_, logits_, d_embed_;
  std::vector<MatrixView<float>> states_;   // x_0 .. x_n
  std::vector<MatrixView<float>> normed_;   // u of each layer; the state itself without norm
  std::vector<std::span<float>> inverse_;   // of the norm, [rows]
  std::vector<MatrixView<float>> z_;        // of each layer; dz after the backward pass
  std::vector<MatrixView<float>> d_state_;  // per worker, twice: gradient of a state, of a chunk's rows
  std::span<float> losses_;
  std::span<uint8_t> hits_;

  struct GradientTile {
    size_t layer, tile;  // layer 0: embed, 1..n: blocks, n+1: head; tile == kNoParam: the bias
  };
  std::vector<GradientTile> tiles_;
  std::vector<Range> pieces_;  // where each of them lies in the gradients
};

}  // namespace glint
