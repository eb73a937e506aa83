// The language model: token embedding, n blocks of causal attention and a GLU, norm, head.
//
//   x = E[token]
//   x += s attn(norm(x))                           s = 1 / sqrt(2 n)
//   x += P (gate(L u) * (R u)), u = norm(x)
//   logits = norm(x) H^T
//
// A sequence goes forward and backward through all layers on one thread, and nothing is padded. The rows of a
// step are cut into at most `max_rows` lanes of about as many tokens, by their lengths alone; the sequences
// of a lane follow each other and add to the gradients of the lane, and the lanes are added in their order.
// So the result does not depend on the number of threads, threads do not wait for each other within a step,
// and memory grows with max_rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/base/arena.h"
#include "glint/base/tokens.h"
#include "glint/kernels/gates.h"
#include "glint/model/batch_share.h"
#include "glint/model/params.h"
#include "glint/nn/linear.h"

namespace glint {

// Tokens of a sequence: the one that begins a story and one more, up to what a table of positions may take.
inline constexpr size_t kMinContext = 2, kMaxContext = 16384;

struct TransformerConfig {
  size_t vocab = 4096;
  size_t layers = 4;
  size_t d_model = 128;
  size_t d_hidden = 0;  // width of a GLU; 0: d_model
  size_t heads = 4;
  size_t context = 256;  // the most tokens of a sequence
  Gate gate;
  size_t hidden() const { return d_hidden ? d_hidden : d_model; }
  size_t head_dim() const { return d_model / heads; }
};

// Error (usage) naming the option and its domain.
void check(const TransformerConfig& config);

// Indices into the table.
struct TransformerParams {
  ParamTable table;
  size_t wte = 0, head = 0;
  struct Block {
    size_t qkv, o, mlp_w, mlp_p;
  };
  std::vector<Block> blocks;
};
// Names: transformer.wte.weight [vocab, d], transformer.h.{i}.attn.qkv.weight [3d, d], .attn.o.weight [d, d],
// .mlp.w.weight [2h, d] (gated half first), .mlp.p.weight [d, h], lm_head.weight [vocab, d].
TransformerParams transformer_params(const TransformerConfig& config);

struct TextResult {
  double loss = 0;  // sum over the tokens
  uint64_t correct = 0, tokens = 0;
};

// Cuts the rows of a step into at most `most` lanes; length(i) is that of row i.
template <class Length>
void cut_into_lanes(size_t rows, const Length& length, size_t most, std::vector<Range>& lanes) {
  uint64_t tokens = 0, before = 0;
  for (size_t i = 0; i < rows; i++) tokens += length(i);
  const size_t count = std::min(rows, most);
  size_t next = 0;
  lanes.clear();
  for (size_t i = 0; i < count; i++) {
    const size_t first = next;
    // A row at least, and one for each lane that follows; otherwise up to the lane's share of the tokens.
    const size_t last = rows - (count - 1 - i);
    do before += length(next++);
    while (next < last && (i + 1 == count || before + length(next) / 2 < tokens * (i + 1) / count));
    lanes.push_back({first, next - first});
  }
}

// Some lanes of a step, of which other processes compute the others.
struct LaneShare {
  std::span<const Range> lanes;  // of the rows at hand
  size_t first = 0;              // the place of the first of them among all lanes
  uint64_t tokens = 0;           // of the whole step
  const OrderedSum& sum;
};

struct ResidualTrace;       // residual_trace.h
class SequencePass;         // sequence_pass.h
struct TransformerWeights;  // sequence_pass.h

// Computes with one set of weights. Allocates in the constructor only; memory grows with max_rows and with
// the number of threads. Error (usage) for a configuration outside its domain and for rows that do not fit it
// (1 to context tokens, ids below vocab); Error (numeric) when a sum or a product overflows, at any layer.
class TransformerEngine {
 public:
  // Called with the losses of a row's tokens.
  using RowLosses = std::function<void(size_t row, std::span<const float> losses)>;

  // `max_lanes`: of the lanes of a step no more are computed here; 0: all.
  TransformerEngine(const TransformerConfig& config, const Compute& compute, size_t max_rows, bool training,
                    size_t max_lanes = 0);
  ~TransformerEngine();

  const TransformerParams& params() const { return params_; }
  size_t max_rows() const { return lanes_.size(); }
  // To be called after the weights changed, before the next rows. Keeps the pointer.
  void set_weights(std::span<const float> weights);

  // Any number of rows. `each`, when given, is called for every row in order.
  TextResult evaluate(std::span<const TokenRow> rows, const RowLosses& each = {});
  // Overwrites `gradients` with those of the mean loss over all tokens of all rows; gaps become 0.
  TextResult forward_backward(std::span<const TokenRow> rows, std::span<float> gradients);
  // The same of some lanes; the result is of these alone, and lane_result(i) of one of them.
  TextResult forward_backward(std::span<const TokenRow> rows, std::span<float> gradients, const LaneShare& share);
  const TextResult& lane_result(size_t i) const { return lanes_[i].result; }

  // Of one row, whose targets are not read: the inputs of the GLU of a layer, after its norm [tokens, d]; the
  // logits [tokens, vocab].
  void trace(const TokenRow& row, size_t layer, MatrixView<float> mlp_input);
  void logits(const TokenRow& row, MatrixView<float> out);
  // trace() of many rows, one after the other in `mlp_input` [all tokens, d], side by side on the threads.
  void trace(std::span<const TokenRow> rows, size_t layer, MatrixView<float> mlp_input);
  // The last token of a row.
  ResidualTrace follow(const TokenRow& row);

 private:
  void check_row(const TokenRow& row, bool targets) const;
  void check_layer(size_t layer) const;
  struct Lane {
    Matrix<float> gradients;
    TextResult result;
  };
  struct PackTask {
    PackedWeights* weights;  // null: the head
    size_t param, piece;
  };
  TextResult sum_results(size_t lanes) const;
  void pass_lanes(std::span<const TokenRow> rows, std::span<const Range> lanes, uint64_t tokens);
  // Of some floats of the gradients; `begin`: the first lane is the first of all.
  void sum_gradients(size_t lanes, bool begin, std::span<float> gradients, Range floats);

  TransformerConfig config_;
  const Compute& compute_;
  bool training_;
  TransformerParams params_;
  std::unique_ptr<TransformerWeights> weights_;
  std::vector<PackTask> tasks_;
  std::vector<std::unique_ptr<SequencePass>> passes_;  // one per worker
  std::vector<Lane> lanes_;                            // max_rows of them
  std::vector<Range> cut_;                             // the lanes of a step
  std::vector<Range> pieces_;                          // of the gradients, for sums over processes
  Matrix<float> losses_;                               // [max_rows, context]
};

}  // namespace glint
