// The head over a vocabulary with its loss, against the double reference; blocks of columns with every kind
// of border.
#include "glint/nn/vocab_loss.h"

#include "glint/kernels/reference.h"
#include "tests/kernels/testing.h"

namespace glint {
namespace {

using namespace model_testing;

struct Head {
  const Products& products;
  VocabHead head;
  Arena arena;
  VocabScratch memory;
  Scratch scratch{1};
  Head(const Products& p, const Matrix<float>& h)
      : products(p), head(p, h.rows(), h.cols(), true), arena(VocabScratch::bytes(head)), memory(arena, head) {
    for (size_t i = 0; i < head.pieces(); i++) head.pack(products, h, i);
  }
};

void check(const Products& products, size_t rows, size_t vocab, size_t d) {
  const Matrix<float> u = random_matrix(1, rows, d), h = random_matrix(2, vocab, d, 0.5),
                      start = random_matrix(3, vocab, d);
  Head head(products, h);
  std::vector<TokenId> targets(rows);
  std::vector<uint32_t> labels(rows);
  std::vector<uint8_t> hits(rows);
  std::vector<float> losses(rows);
  const Rng rng(7, Stream::test);
  for (size_t i = 0; i < rows; i++)
    targets[i] = labels[i] = static_cast<uint32_t>(rng.below(static_cast<uint32_t>(vocab), i));
  if (rows > 2) targets[0] = labels[0] = 0, targets[1] = labels[1] = static_cast<uint32_t>(vocab - 1);
  const float scale = 0.125f;
  Matrix<float> du(rows, d), dh = start, logits(rows, vocab);
  vocab_loss_forward(products, head.head, u, targets, head.memory, losses, hits, head.scratch[0]);
  vocab_loss_backward(products, head.head, u, targets, scale, head.memory, du, dh, head.scratch[0]);
  vocab_logits(products, head.head, u, logits, head.scratch[0]);

  const Matrix<double> x = to_double(u), w = to_double(h);
  const Matrix<double> want_logits = reference::linear_forward(x, w);
  const reference::Xent want = reference::softmax_xent(want_logits, labels, scale);
  const reference::LayerGradient g = reference::linear_backward(x, w, want.dlogits);
  double size = 0, weight = 0, input = 0;
  for (const double v : want_logits.span()) size = std::max(size, std::fabs(v));
  for (const double v : w.span()) weight = std::max(weight, std::fabs(v));
  for (const double v : x.span()) input = std::max(input, std::fabs(v));
  // A logit is off by e; softmax and loss by 2 e and the sum's n u; a row of d_logits adds up to 2 scale.
  const double e = kU * static_cast<double>(d + 1) * std::max(size, input * weight * static_cast<double>(d)),
               p = 2 * e + kU * (2 * static_cast<double>(vocab) + 20 + size);
  for (size_t i = 0; i < rows; i++) {
    EXPECT_NEAR(losses[i], want.loss[i], p + kU * want.loss[i]) << i;
    EXPECT_EQ(hits[i], want.hit[i]) << i;
    for (size_t j = 0; j < vocab; j++) ASSERT_NEAR(logits(i, j), want_logits(i, j), e);
    for (size_t j = 0; j < d; j++) ASSERT_NEAR(du(i, j), g.dx(i, j), 3 * p * scale * weight) << i << ", " << j;
  }
  for (size_t j = 0; j < vocab; j++)
    for (size_t c = 0; c < d; c++)
      ASSERT_NEAR(dh(j, c), start(j, c) + g.dw(j, c),
                  3 * p * scale * input * static_cast<double>(rows) + 2 * kU * std::fabs(start(j, c)))
          << j << ", " << c;
}

TEST(VocabLoss, MatchesTheReference) {
  for (const Isa isa : runnable_isas(cpu())) {
    const Products products(kernels(isa));
    for (const auto& [rows, vocab, d] :
         {std::array<size_t, 3>{1, 2, 2}, {7, 13, 8}, {132, 192, 16}, {144, 193, 12}, {33, 250, 128}, {5, 191, 24}}) {
      SCOPED_TRACE(std::string(name(isa)) + ": " + std::to_string(rows) + " rows, vocabulary " + std::to_string(vocab));
      check(products, rows, vocab, d);
      if (HasFatalFailure()) return;
    }
  }
}

// Of equal logits the first counts, within a block and across blocks.
TEST(VocabLoss, TheFirstOfEqualLogitsIsThePrediction) {
  const Products products(kernels(cpu().best));
  Matrix<float> h(600, 1), u(1, 1);
  u(0, 0) = 1;
  for (const size_t j : {200, 205, 450}) h(j, 0) = 3;
  Head head(products, h);
  for (const auto& [target, hit] : {std::pair<TokenId, int>{200, 1}, {205, 0}, {450, 0}, {0, 0}}) {
    float loss = 0;
    uint8_t got = 9;
    vocab_loss_forward(products, head.head, u, {&target, 1}, head.memory, {&loss, 1}, {&got, 1}, head.scratch[0]);
    EXPECT_EQ(got, hit) << target;
    const double lse = std::log(3 * std::exp(3.0) + 597);
    EXPECT_NEAR(loss, lse - (target == 0 ? 0 : 3), 1e-5);
  }
}

TEST(VocabLoss, NanIsNotHidden) {
  const Products products(kernels(cpu().best));
  Matrix<float> h(400, 2), u(1, 2);
  h(300, 0) = NAN;
  u(0, 0) = 1;
  Head head(products, h);
  const TokenId target = 1;
  float loss = 0;
  uint8_t hit = 0;
  vocab_loss_forward(products, head.head, u, {&target, 1}, head.memory, {&loss, 1}, {&hit, 1}, head.scratch[0]);
  EXPECT_TRUE(std::isnan(loss));
}

}  // namespace
}  // namespace glint
