// Shapes, labels and tokens that do not fit are an Error, before any kernel sees them.
#include <gtest/gtest.h>

#include "glint/nn/attention.h"
#include "glint/nn/embedding.h"
#include "glint/nn/glu.h"
#include "glint/nn/loss.h"
#include "glint/nn/norm.h"
#include "glint/nn/rotary.h"
#include "glint/nn/vocab_loss.h"
#include "tests/nn/layers.h"

namespace glint {
namespace {

using namespace model_testing;

template <class F>
void expect_code(ErrorCode code, F&& f, const std::string& what) {
  try {
    f();
    ADD_FAILURE() << what << ": no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << what;
    EXPECT_FALSE(e.parts().where.empty()) << what;
  }
}
template <class F>
void expect_refused(F&& f, const std::string& what) {
  expect_code(ErrorCode::usage, f, what);
}

TEST(Arguments, LabelsThatAreNoClass) {
  const Kernels& k = kernels(cpu().best);
  for (const uint32_t bad : {3u, 4u, 255u, 256u, 0xffffffffu}) {
    Matrix<float> logits(2, 3), gradient(2, 3);
    std::vector<uint32_t> labels = {0, bad};
    std::vector<uint8_t> hits(2);
    std::vector<float> losses(2);
    expect_refused([&] { softmax_loss_forward(k, logits, labels, losses, hits); }, "forward");
    expect_refused([&] { softmax_loss_backward(k, logits, labels, 2, gradient, losses, hits); }, "backward");
    EXPECT_EQ(gradient(1, 2), 0);
    labels[1] = 2;
    EXPECT_NO_THROW(softmax_loss_backward(k, logits, labels, 2, gradient, losses, hits));
    expect_refused([&] { softmax_loss_forward(k, logits, std::span(labels).first(1), losses, hits); },
                   "too few labels");
    expect_refused([&] { softmax_loss_backward(k, logits, labels, 0, gradient, losses, hits); }, "an empty batch");
  }
}

TEST(Arguments, TokensThatAreNotInTheVocabulary) {
  const Kernels& k = kernels(cpu().best);
  Matrix<float> e(4, 3), x(2, 3);
  const std::vector<TokenId> good = {3, 0}, bad = {0, 4};
  EXPECT_NO_THROW(embedding_forward(good, e, x));
  expect_refused([&] { embedding_forward(bad, e, x); }, "forward");
  expect_refused([&] { embedding_backward(k, bad, x, e); }, "backward");
  expect_refused([&] { embedding_forward(std::span(good).first(1), e, x); }, "shape");
}

TEST(Arguments, ShapesOfLayers) {
  const Products p(kernels(cpu().best));
  const Kernels& k = p.kernels();
  Scratch memory(1);
  const std::span<std::byte> scratch = memory[0];
  Matrix<float> w(6, 4), x(5, 4), y(5, 6), half(5, 3), thin(5, 2), short_rows(4, 6);
  PackedWeights packed(p, 6, 4), forward_only(p, 6, 4, false);
  for (size_t i = 0; i < packed.pieces(); i++) packed.pack(p, w, i);
  for (size_t i = 0; i < forward_only.pieces(); i++) forward_only.pack(p, w, i);
  expect_refused([&] { packed.pack(p, x, 0); }, "weights of another shape");
  expect_refused([&] { packed.pack(p, w, packed.pieces()); }, "a piece that is not there");
  EXPECT_NO_THROW(linear_forward(p, x, packed, y, scratch));
  expect_refused([&] { linear_forward(p, half, packed, y, scratch); }, "x");
  expect_refused([&] { linear_forward(p, x, packed, half, scratch); }, "y");
  expect_refused([&] { linear_forward(p, x, packed, short_rows, scratch); }, "rows of y");
  EXPECT_NO_THROW(linear_backward(p, y, packed, x, false, scratch));
  expect_refused([&] { linear_backward(p, x, packed, y, false, scratch); }, "dy");
  expect_refused([&] { linear_backward(p, y, forward_only, x, false, scratch); }, "no packed gradient");
  EXPECT_NO_THROW(weight_gradient(p, y, x, w, false, scratch));
  expect_refused([&] { weight_gradient(p, short_rows, x, w, false, scratch); }, "rows of dy");
  expect_refused([&] { weight_gradient_tile(p, y, x, w, 100, scratch); }, "a tile that is not there");
  const Gate gate{GateKind::Sqs, {}};
  EXPECT_NO_THROW(gate_forward(k, gate, y, half));
  expect_refused([&] { gate_forward(k, gate, y, thin); }, "y of a gate");
  expect_refused([&] { gate_backward(k, gate, y, thin, y); }, "dy of a gate");
  expect_refused([&] { gate_backward(k, gate, y, half, short_rows); }, "dz of a gate");
  std::vector<float> inverse(5);
  EXPECT_NO_THROW(norm_forward(k, y, y, inverse));
  expect_refused([&] { norm_forward(k, y, x, inverse); }, "u of a norm");
  expect_refused([&] { norm_backward(k, y, inverse, y, x); }, "dx of a norm");
}

TEST(Arguments, ANormThatOverflows) {
  const Kernels& k = kernels(cpu().best);
  for (const float bad :
       {1e20f, -3e38f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Matrix<float> x(3, 4), u(3, 4);
    std::vector<float> inverse(3);
    EXPECT_NO_THROW(norm_forward(k, x, u, inverse));  // zeros are no overflow
    x(1, 2) = bad;
    expect_code(
        ErrorCode::numeric, [&] { norm_forward(k, x, u, inverse); }, std::to_string(bad));
  }
}

TEST(Arguments, ShapesOfAttention) {
  const Kernels& k = kernels(cpu().best);
  const Attention reader(k, 2, 2, 4, 6, 1, false);
  Matrix<float> qkv(6, 24), y(6, 8), lse(2, 6), long_qkv(7, 24), long_y(7, 8), d_qkv(6, 24);
  Matrix<float> memory(1, 4096);
  ASSERT_LE(reader.scratch_floats(), memory.size());
  const std::span<float> scratch = memory.span();
  EXPECT_NO_THROW(reader.forward(qkv, y, lse, scratch));
  expect_refused([&] { reader.forward(long_qkv, long_y, lse, scratch); }, "longer than the context");
  expect_refused([&] { reader.forward(y, y, lse, scratch); }, "qkv");
  expect_refused([&] { reader.forward(qkv, qkv, lse, scratch); }, "y");
  expect_refused([&] { reader.forward(qkv, y, lse, scratch.first(8)); }, "scratch");
  expect_refused([&] { reader.backward(qkv, y, lse, y, d_qkv, scratch); }, "not made for training");
  expect_refused([&] { Attention(k, 3, 2, 4, 6, 1, false); }, "heads of queries that cannot share");
  const std::vector<double> frequencies = {1, 0.01};
  const RotaryTable rotary(6, frequencies);
  EXPECT_NO_THROW(rotary.forward(k, 2, 2, 0, qkv));
  expect_refused([&] { rotary.forward(k, 2, 2, 1, qkv); }, "positions beyond the context");
  expect_refused([&] { rotary.forward(k, 3, 3, 0, qkv); }, "heads");
}

TEST(Arguments, TargetsOfAVocabulary) {
  const Products p(kernels(cpu().best));
  Scratch memory(1);
  VocabHead head(p, 10, 4, true);
  Arena arena(VocabScratch::bytes(head));
  const VocabScratch room(arena, head);
  Matrix<float> h(10, 4), u(3, 4), du(3, 4), logits(3, 10), few(3, 9), many(VocabHead::kRows + 1, 4);
  for (size_t i = 0; i < head.pieces(); i++) head.pack(p, h, i);
  std::vector<TokenId> targets = {0, 9, 4};
  std::vector<float> losses(3);
  std::vector<uint8_t> hits(3);
  const auto forward = [&] { vocab_loss_forward(p, head, u, targets, room, losses, hits, memory[0]); };
  const auto backward = [&](MatrixView<float> d) {
    vocab_loss_backward(p, head, u, targets, 1, room, d, h, memory[0]);
  };
  EXPECT_NO_THROW(forward());
  EXPECT_NO_THROW(backward(du));
  expect_refused([&] { backward(few); }, "du");
  targets[1] = 10;
  expect_refused(forward, "a target that is not there");
  targets.pop_back();
  expect_refused(forward, "too few targets");
  expect_refused([&] { vocab_logits(p, head, u, few, memory[0]); }, "logits");
  EXPECT_NO_THROW(vocab_logits(p, head, u, logits, memory[0]));
  expect_refused([&] { head.pack(p, u, 0); }, "weights of another shape");
}

}  // namespace
}  // namespace glint
