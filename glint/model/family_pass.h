// One text through a model of a family: tokens are fed in any portions, and the keys and values of those
// before are kept (a KV cache). Weights stay as they are stored; all sums are f32, in an order that depends
// on shapes alone, so that results are the same bytes at any number of threads.
//
// The cache: per layer and head of keys the keys as panels [room / nr, head_dim, nr] and the values [room,
// head_dim], as generator.h has them.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/model/family_model.h"

namespace glint {

// One token of a language model followed through its layers: the residual stream between all parts, what each
// GLU reads, and the logits that come of it.
//
//   stream_0 = embedding    stream_2i+1 = stream_2i + attention_i    stream_2i+2 = stream_2i+1 + glu_i
//   logits = H norm(stream_2n)
struct ResidualTrace {
  Matrix<float> stream;      // [2 layers + 1, d]
  Matrix<float> glu_inputs;  // [layers, d]: after the norm before the GLU, without the weights of that norm
  // [layers]: by what a norm behind the GLU multiplies, before its weights; 1 where there is none.
  std::vector<double> glu_scale;
  double last_scale = 1;      // the same of the last norm
  std::vector<float> logits;  // [vocab], before a cap

  ResidualTrace() = default;
  ResidualTrace(size_t layers, size_t d, size_t vocab)
      : stream(2 * layers + 1, d), glu_inputs(layers, d), glu_scale(layers, 1.0), logits(vocab) {}
  size_t layers() const { return glu_scale.size(); }
  void keep_stream(size_t at, const float* x) { std::copy_n(x, stream.cols(), stream.view().row_ptr(at)); }
};

// Rows of a chunk that belong to one text; texts are counted from 0.
struct TextRowsOf {
  size_t text = 0;
  Range rows;
  size_t position = 0;  // in the text, of the first of them
};

class FamilyPass {
 public:
  // Room for so many tokens; keeps references. Allocates here: about cache_bytes and the numbers of kChunk
  // tokens.
  FamilyPass(const FamilyModel& model, const Compute& compute, size_t room);
  // For layer_of: so many rows at once, of so many texts with `room` tokens each, and the cache of one layer.
  struct Shape {
    size_t rows = 0, texts = 1;
    bool one_layer = false;
  };
  FamilyPass(const FamilyModel& model, const Compute& compute, size_t room, const Shape& shape);
  static uint64_t cache_bytes(const FamilyModel& model, size_t room);
  // Tokens that go through the layers together.
  static constexpr size_t kChunk = 256;

  size_t position() const { return position_; }  // tokens fed so far
  size_t room() const { return room_; }
  void clear() { position_ = 0; }
  // Back to the first `position` of the tokens that were fed.
  void rewind(size_t position);

  // Feeds tokens and gives the logits [vocab] that follow the last, valid and writable until the next call.
  // Error (usage) for tokens outside the vocabulary, or more than there is room for; Error (numeric) when the
  // logits overflow.
  std::span<float> feed(std::span<const TokenId> tokens);
  // Feeds tokens for what follows them alone: no logits.
  void prime(std::span<const TokenId> tokens);
  // The same with the logits after every token, some at a time: `each` is given the number of the first among
  // `tokens`, and [n, vocab].
  void feed_all(std::span<const TokenId> tokens, const std::function<void(size_t, MatrixView<float>)>& each);
  // The beginning of the residual stream [n, d].
  void embed(std::span<const TokenId> tokens, MatrixView<float> stream) const;
  // One layer of the rows of some texts, whose earlier rows went through it before: the stream becomes what it
  // is behind the layer, and `inputs` what the GLU reads, after its norm but before the weights of that norm.
  void layer_of(size_t layer, std::span<const TextRowsOf> texts, MatrixView<float> stream, MatrixView<float> inputs);
  // Feeds tokens and follows the last of them.
  ResidualTrace follow(std::span<const TokenId> tokens);

  // From now on the GLU of a layer reads what `change` makes of it: after its norm, before the weights of
  // that norm [n, d]. Called on the caller's thread; null: what it is.
  using Change = std::function<void(MatrixView<float> x)>;
  void change_glu(size_t layer, Change change);

 private:
  struct Turn {  // cos and sin [room, pairs]
    Matrix<float> cos, sin;
  };
  void check_tokens_fit(std::span<const TokenId> tokens) const;
  // Which text, and which place in it, the rows of the chunk are of; the first `rows` are the next of text 0.
  void set_texts(std::span<const TextRowsOf> texts);
  void set_rows(size_t rows);
  // All tokens through all layers, a chunk at a time; the rows of the last chunk.
  size_t layers_forward(std::span<const TokenId> tokens);
  void attention(size_t layer, size_t rows);
  void attend(size_t layer, size_t head, Range rows, size_t worker);
  void glu(size_t layer, MatrixView<float> u);
  void change(const NormWeights& norm, MatrixView<float> x);
  // `last`, when given, is told of the last of the rows; `inputs`, where not empty, are as in layer_of.
  void layer_forward(size_t layer, size_t rows, ResidualTrace* last = nullptr, MatrixView<float> inputs = {});
  void norm(const NormWeights& weights, MatrixView<float> x, MatrixView<float> u);
  void norm_rows(const NormWeights& weights, Range rows, MatrixView<float> x, MatrixView<float> u) const;
  void weigh(const NormWeights& weights, MatrixView<float> u) const;
  void plain_norm(ConstMatrixView<float> x, MatrixView<float> u) const;
  // By what the norm multiplies a row, the mean aside.
  double norm_scale(std::span<const float> x) const;
  const NormWeights& norm_before_glu(size_t layer) const;
  void turn(const Turn& table, size_t heads, Range rows, MatrixView<float> x) const;
  void keep(size_t layer, Range rows);
  void head(Range rows, bool capped = true);
  float* keys(size_t layer, size_t text, size_t head);
  float* values(size_t layer, size_t text, size_t head);
  // body(rows) over the rows of a chunk, on the pool where there are many.
  template <class Body>
  void each_rows(size_t rows, const Body& body);

  const FamilyModel& model_;
  const FamilyConfig& config_;
  const Compute& compute_;
  StoredProducts products_;
  size_t room_, position_ = 0, chunk_;
  size_t value_stride_, key_floats_, head_floats_;
  size_t logit_rows_;
  std::vector<Matrix<float>> cache_;  // per layer, or of one: [texts, kv_heads, head_floats]
  struct Place {
    size_t text = 0, position = 0;
  };
  std::vector<TextRowsOf> texts_;  // of the chunk
  std::vector<Place> rows_of_;     // of each of its rows
  std::vector<Range> strips_;
  Turn turn_, local_turn_;
  Matrix<float> x_, u_, q_, k_, v_, a_, y_, sum_;  // [chunk, ...]
  Matrix<float> logits_;                           // [logit_rows, vocab]
  Matrix<float> scores_;                           // [workers, strip * columns]
  Matrix<float> norms_;                            // [workers, 2 strip]: of softmax rows
  size_t changed_layer_ = 0;
  Change change_;
  Matrix<float> changed_;  // [chunk, d], where there is a change
};

}  // namespace glint
