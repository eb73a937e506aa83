// The language model that is trained: token embedding, n blocks of causal attention and a GLU, norm, head.
//
//   x = E[token]
//   x += s attn(norm(x))                           s = 1 / sqrt(2 n), or 1
//   x += P (gate(L u) * (R u)), u = norm(x)
//   logits = norm(x) H^T
//
// glint's own shape is the default; the common shape of Llama (and Qwen) adds weights of norms, heads that share
// keys and values, a head that is the embedding, biases of queries, keys and values, and norms of queries and keys.
// The weights of a norm are multiplied into the matrix that reads it when the weights are packed, so that no token
// pays for them; the gradients of both follow from that of the product.
//
// A sequence goes forward and backward through all layers on one thread, and nothing is padded. The rows of a
// step are cut into at most `max_rows` lanes of about as many tokens, by their lengths alone; the sequences
// of a lane follow each other and add to the gradients of the lane, and the lanes are added in their order.
// So the result does not depend on the number of threads, threads do not wait for each other within a step,
// and memory grows with max_rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/base/arena.h"
#include "glint/base/tokens.h"
#include "glint/io/fields.h"
#include "glint/kernels/gates.h"
#include "glint/model/batch_share.h"
#include "glint/model/params.h"
#include "glint/model/rotary_scaling.h"
#include "glint/nn/linear.h"
#include "glint/nn/norm.h"

namespace glint {

// Tokens of a sequence: the one that begins a story and one more, up to what a table of positions may take.
inline constexpr size_t kMinContext = 2, kMaxContext = 16384;

// What the shape of Llama and Qwen has beyond glint's own, which is the default.
struct LlamaShape {
  uint64_t kv_heads = 0, d_head = 0;
  bool norm_weights = false, tied_head = false, qkv_bias = false, head_norms = false, damped = true;
  double norm_eps = kNormEps, theta = 10000;
  std::string rotary_scaling;
  bool operator==(const LlamaShape&) const = default;
};
std::vector<Field> fields_of(LlamaShape& shape);

struct TransformerConfig {
  size_t vocab = 4096;
  size_t layers = 4;
  size_t d_model = 128;
  size_t d_hidden = 0;  // width of a GLU; 0: d_model
  size_t heads = 4;
  size_t context = 256;  // the most tokens of a sequence
  Gate gate;
  LlamaShape shape = {};
  size_t hidden() const { return d_hidden ? d_hidden : d_model; }
  size_t head_dim() const { return shape.d_head ? shape.d_head : d_model / heads; }
  size_t keys() const { return shape.kv_heads ? shape.kv_heads : heads; }  // heads of keys and values
  size_t attention_width() const { return heads * head_dim(); }
  size_t qkv_width() const { return (heads + 2 * keys()) * head_dim(); }
  double attention_factor() const { return shape.damped ? 1 / std::sqrt(2.0 * static_cast<double>(layers)) : 1; }
  std::vector<double> frequencies() const {
    return rotary_frequencies(shape.theta, parse_rotary_scaling(shape.rotary_scaling), head_dim());
  }
};
// But for the gate.
bool same_shape(const TransformerConfig& a, const TransformerConfig& b);

// Error (usage) naming the option and its domain.
void check(const TransformerConfig& config);

// Indices into the table; kNoParam for what the shape does not have.
struct TransformerParams {
  ParamTable table;
  size_t wte = 0, head = 0, norm = kNoParam;  // a tied head is wte
  struct Block {
    size_t qkv, o, mlp_w, mlp_p;
    size_t attention_norm = kNoParam, mlp_norm = kNoParam, qkv_bias = kNoParam, q_norm = kNoParam, k_norm = kNoParam;
  };
  std::vector<Block> blocks;

  bool tied() const { return head == wte; }
  // Gradients of a lane are by the weights as they are packed; those of a tied head stand behind all others.
  size_t lane_floats() const { return table.floats() + (tied() ? table[wte].size() : 0); }
  size_t head_offset() const { return tied() ? table.floats() : table[head].offset; }
  MatrixView<float> head_gradient(std::span<float> lane) const {
    return {lane.data() + head_offset(), table[head].rows, table[head].cols};
  }
};
// Names: transformer.wte.weight [vocab, d], transformer.h.{i}.attn.qkv.weight [q + 2 kv, d], .attn.o.weight [d, q],
// .mlp.w.weight [2h, d] (gated half first), .mlp.p.weight [d, h], lm_head.weight [vocab, d]; where the shape has
// them transformer.norm.weight and, in a block, .attn.norm, .mlp.norm, .attn.q_norm, .attn.k_norm (.weight) and
// .attn.qkv.bias.
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
  // trace() of many rows, one after the other in `mlp_input` [all tokens, d], side by side on the threads; `halves`
  // [all tokens, 2h], or empty, gets both products of the GLU.
  void trace(std::span<const TokenRow> rows, size_t layer, MatrixView<float> mlp_input,
             MatrixView<float> halves = {});
  // From now on gradients are those of (1 - share) times the loss and share times the cross-entropy with what
  // `teacher` says; it has the same shape but for the gate, its weights, and lives as long.
  void learn_from(TransformerEngine& teacher, double share);
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
    PackedWeights* weights;         // null: the head
    ConstMatrixView<float> folded;  // empty: the parameter as it is
    size_t param, piece;
  };
  // A matrix that is packed as it is times the weights of the norm it reads, or a tied head without one.
  struct Folded {
    size_t matrix, norm, raw;  // parameters, and the first float of the gradient in a lane
    MatrixView<float> product;
  };
  TextResult sum_results(size_t lanes) const;
  void pass_lanes(std::span<const TokenRow> rows, std::span<const Range> lanes, uint64_t tokens);
  // Of some floats of the gradients; `begin`: the first lane is the first of all.
  void sum_gradients(size_t lanes, bool begin, std::span<float> gradients, Range floats);
  // Where the lanes are summed: in `gradients`, or in a buffer of their own from which finish() makes them.
  std::span<float> sums(std::span<float> gradients);
  void fold_norms(ThreadPool& pool);
  void finish(std::span<float> gradients);

  TransformerConfig config_;
  const Compute& compute_;
  bool training_;
  TransformerParams params_;
  std::unique_ptr<TransformerWeights> weights_;
  std::span<const float> values_;  // the weights that were set
  std::vector<Folded> folded_;
  Matrix<float> products_, sums_;  // of the folded matrices; of the lanes
  std::vector<PackTask> tasks_;
  std::vector<std::unique_ptr<SequencePass>> passes_;  // one per worker
  std::vector<Lane> lanes_;                            // max_rows of them
  std::vector<Range> cut_;                             // the lanes of a step
  std::vector<Range> pieces_;                          // of the gradients, for sums over processes
  Matrix<float> losses_;                               // [max_rows, context]
};

}  // namespace glint
