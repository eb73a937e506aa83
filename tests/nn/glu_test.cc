// The GLU layer and the loss. Each stage is compared with the reference on what the stage before it really
// gave: then every bound is that of one product or one gate, and a pre-activation at the jump of SQS does no
// harm.
#include "glint/nn/glu.h"

#include "glint/nn/loss.h"
#include "tests/nn/layers.h"

namespace glint::model_testing {
namespace {

struct GluRun {
  Matrix<float> z, y, dz, dx, dw;
};

GluRun run(const Compute& compute, const Gate& gate, const Matrix<float>& x, const Matrix<float>& w,
           const Matrix<float>& dy, bool input_gradient = true) {
  GluRun out{Matrix<float>(x.rows(), w.rows()),
             Matrix<float>(x.rows(), w.rows() / 2),
             {},
             input_gradient ? Matrix<float>(x.rows(), x.cols()) : Matrix<float>(),
             Matrix<float>(w.rows(), w.cols())};
  PackedWeights packed(compute.products, w.rows(), w.cols(), input_gradient);
  packed.pack_all(compute, w);
  glu_layer_forward(compute, gate, packed, x, out.z, out.y);
  out.dz = out.z;
  glu_layer_backward(compute, gate, packed, x, out.dz, dy, out.dx, out.dw);
  return out;
}

void expect_gate(const GluRun& got, const Gate& gate, const Matrix<float>& dy, const std::string& what) {
  const Matrix<double> z = to_double(got.z), d = to_double(dy);
  const Matrix<double> y = reference::gate_forward(gate, z), dz = reference::gate_backward(gate, z, d);
  const size_t h = y.cols();
  for (size_t i = 0; i < y.rows(); i++) {
    for (size_t j = 0; j < h; j++) {
      const double dyr = std::fabs(d(i, j) * z(i, h + j));
      const double slope = slope_bound(gate_info(gate.kind), z(i, j), gate.params);
      ASSERT_LE(std::fabs(got.y(i, j) - y(i, j)), 10 * kU * std::fabs(y(i, j)) + 8 * kTiny) << what << " y";
      ASSERT_LE(std::fabs(got.dz(i, j) - dz(i, j)), 1.01 * dyr * slope + 3 * kU * std::fabs(dz(i, j)) + 8 * kTiny)
          << what << " dl";
      ASSERT_LE(std::fabs(got.dz(i, h + j) - dz(i, h + j)), 10 * kU * std::fabs(dz(i, h + j)) + 8 * kTiny)
          << what << " dr";
    }
  }
}

std::vector<Gate> gates() {
  std::vector<Gate> all;
  for (int i = 0; i < kGateCount; i++) all.push_back({static_cast<GateKind>(i), as_floats({})});
  all.push_back({GateKind::Sqs, {.c = 0.5, .lambda = 0.5, .p = 2}});
  return all;
}

TEST(GluLayer, MatchesTheReferenceAtAnyThreadCount) {
  struct Sizes {
    size_t batch, d, h;
  };
  Scratch scratch(7);
  for (const auto& [product_name, products] : every_product()) {
    for (const Gate& gate : gates()) {
      for (const Sizes& s : {Sizes{0, 3, 2}, {1, 1, 1}, {5, 7, 6}, {67, 33, 17}, {300, 64, 65}, {513, 20, 96}}) {
        const std::string what = product_name + " " + std::string(gate_info(gate.kind).text.name) + " batch " +
                                 std::to_string(s.batch) + " d " + std::to_string(s.d) + " h " + std::to_string(s.h);
        const Matrix<float> x = random_matrix(1, s.batch, s.d), dy = random_matrix(3, s.batch, s.h);
        const Matrix<float> w = random_matrix(2, 2 * s.h, s.d, 0.5);
        GluRun first;
        for (const size_t threads : kThreadCounts) {
          ThreadPool pool(threads);
          GluRun got = run({products, pool, scratch}, gate, x, w, dy);
          if (threads == 1) {
            const Matrix<double> wd = operand(products, w), xd = operand(products, x), dzd = operand(products, got.dz);
            expect_product(got.z, xd, reference::transpose(wd), false, what + " z");
            expect_gate(got, gate, dy, what);
            expect_product(got.dx, dzd, wd, false, what + " dx");
            expect_product(got.dw, dzd, xd, true, what + " dW");
            first = std::move(got);
          } else {
            ASSERT_TRUE(same_bytes(got.z, first.z) && same_bytes(got.y, first.y) && same_bytes(got.dz, first.dz) &&
                        same_bytes(got.dx, first.dx) && same_bytes(got.dw, first.dw))
                << what << " depends on the number of threads";
          }
        }
      }
    }
  }
}

// The first layer of a network asks for no gradient of its input: the rest is the same.
TEST(GluLayer, WithoutInputGradient) {
  ThreadPool pool(2);
  Scratch scratch(2);
  const Matrix<float> x = random_matrix(1, 70, 30), w = random_matrix(2, 40, 30), dy = random_matrix(3, 70, 20);
  for (const auto& [name, products] : every_product()) {
    const GluRun with = run({products, pool, scratch}, {}, x, w, dy),
                 without = run({products, pool, scratch}, {}, x, w, dy, false);
    EXPECT_TRUE(same_bytes(with.dw, without.dw)) << name;
    EXPECT_TRUE(same_bytes(with.dz, without.dz)) << name;
  }
}

// The bias goes to what the gate reads: z = x W^T + b. The backward pass is that of the same z, and dx may
// lie where dy does.
TEST(GluLayer, BiasAndGradientInPlace) {
  ThreadPool pool(1);
  Scratch scratch(1);
  constexpr size_t kRows = 9, kD = 12;  // as wide as h, so that dx can take the place of dy
  const Gate gate{GateKind::Gelu, {}};
  const Matrix<float> x = random_matrix(1, kRows, kD), w = random_matrix(2, 2 * kD, kD),
                      bias = random_matrix(3, 1, 2 * kD), dy = random_matrix(4, kRows, kD);
  for (const auto& [name, products] : every_product()) {
    PackedWeights packed(products, w.rows(), w.cols());
    packed.pack_all({products, pool, scratch}, w);
    Matrix<float> z(kRows, 2 * kD), y(kRows, kD), linear(kRows, 2 * kD);
    glu_forward(products, gate, x, packed, z, y, scratch[0], bias.span());
    linear_forward(products, x, packed, linear, scratch[0], bias.span());
    EXPECT_TRUE(same_bytes(z, linear)) << name;
    GluRun run{z, y, z, dy, {}};
    glu_backward(products, gate, run.dx, packed, run.dz, run.dx, false, scratch[0]);
    expect_gate(run, gate, dy, name);
    expect_product(run.dx, operand(products, run.dz), operand(products, w), false, name + " dx");
  }
}

// NaN in one row of the batch reaches that row and the weight gradient, and no other row.
TEST(GluLayer, NanStaysInItsRow) {
  ThreadPool pool(2);
  Scratch scratch(2);
  Matrix<float> x = random_matrix(1, 70, 30);
  x(33, 4) = NAN;
  const Matrix<float> w = random_matrix(2, 40, 30), dy = random_matrix(3, 70, 20);
  for (const auto& [name, products] : every_product()) {
    const GluRun got = run({products, pool, scratch}, {}, x, w, dy);
    for (size_t i = 0; i < 70; i++)
      for (const float v : got.y.view().row(i)) ASSERT_EQ(std::isnan(v), i == 33) << name << " row " << i;
    for (const float v : got.dw.span()) ASSERT_TRUE(std::isnan(v)) << name;
  }
}

// The mean loss and its gradient over chunks: softmax_xent itself is tested with the kernels.
TEST(Loss, ChunksGiveTheMeanOfTheBatch) {
  constexpr size_t kBatch = 300, kClasses = 10;
  const Matrix<float> logits = random_matrix(1, kBatch, kClasses, 2);
  std::vector<uint32_t> labels(kBatch);
  for (size_t i = 0; i < kBatch; i++) labels[i] = static_cast<uint32_t>(i * 7 % kClasses);
  const Matrix<double> d = to_double(logits);
  const reference::Xent want = reference::softmax_xent(d, labels, 1.0 / kBatch);
  for (const Isa isa : runnable_isas(cpu())) {
    std::vector<float> loss(kBatch), loss2(kBatch);
    std::vector<uint8_t> hit(kBatch), hit2(kBatch);
    Matrix<float> grad = logits;  // in place
    for (size_t c = 0; c < chunk_count(kBatch); c++) {
      const Range r = chunk_range(kBatch, c);
      const auto part = [&](auto& v) { return std::span(v).subspan(r.first, r.count); };
      const std::span<const uint32_t> chunk_labels = part(labels);
      softmax_loss_forward(kernels(isa), logits.view().row_range(r.first, r.count), chunk_labels, part(loss),
                           part(hit));
      softmax_loss_backward(kernels(isa), grad.view().row_range(r.first, r.count), chunk_labels, kBatch,
                            grad.view().row_range(r.first, r.count), part(loss2), part(hit2));
    }
    EXPECT_EQ(loss, loss2);
    EXPECT_EQ(hit, hit2);
    EXPECT_EQ(hit, want.hit);
    // A row's loss is off by at most (n + 4) u and three roundings of numbers below 20; see ops_rows_test.cc.
    EXPECT_NEAR(kernels(isa).sum(kBatch, loss.data()) / kBatch, reference::loss(d, labels), 80 * kU);
    for (size_t i = 0; i < grad.size(); i++)
      ASSERT_NEAR(grad.span()[i], want.dlogits.span()[i], 40 * kU / kBatch) << name(isa);
  }
}

}  // namespace
}  // namespace glint::model_testing
