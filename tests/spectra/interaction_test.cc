#include "glint/spectra/interaction.h"

#include <algorithm>

#include "fixtures.h"
#include "glint/spectra/lanczos.h"

namespace glint {
namespace {

using namespace fixtures;

const LinearAlgebra& backend(LinalgBackend kind) {
  static const LinearAlgebra lapack(LinalgBackend::openblas), plain(LinalgBackend::eigen);
  return kind == LinalgBackend::openblas ? lapack : plain;
}

Layer golden_layer(const nlohmann::json& g, bool bias) {
  Layer layer{to_matrix<float>(g["left"]), to_matrix<float>(g["right"]), {}, {}, Gate{GateKind::Identity, {}}};
  if (bias) {
    layer.bias_left = g["bias_left"].get<std::vector<float>>();
    layer.bias_right = g["bias_right"].get<std::vector<float>>();
  }
  return layer;
}

void expect_same_matrix(const Matrix<double>& a, const Matrix<double>& b, double tolerance) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.cols(), b.cols());
  double worst = 0;
  for (size_t i = 0; i < a.size(); i++) worst = std::max(worst, std::fabs(a.data()[i] - b.data()[i]));
  EXPECT_LE(worst, tolerance);
}

TEST(Interaction, SpectrumAgreesWithNumpy) {
  const nlohmann::json g = golden()["layer"];
  for (LinalgBackend kind : backends())
    for (bool bias : {false, true}) {
      const Layer layer = golden_layer(g, bias);
      const Matrix<double> values = to_matrix<double>(g[bias ? "values_biased" : "values"]);
      ThreadPool pool(2);
      const std::vector<Spectrum> spectra =
          interaction_spectra({backend(kind), pool, layer.view()}, hidden_weights(to_matrix<float>(g["head"]).view()));
      ASSERT_EQ(spectra.size(), values.rows());
      for (size_t u = 0; u < values.rows(); u++) {
        ASSERT_EQ(spectra[u].count(), values.cols());
        const double scale = std::max(values(u, 0), -values(u, values.cols() - 1));
        for (size_t k = 0; k < values.cols(); k++)
          EXPECT_NEAR(spectra[u].values[k], values(u, k), std::max(1e-10 * std::fabs(values(u, k)), 1e-14 * scale));
      }
    }
}

TEST(Interaction, SumOfTermsIsTheLogitOfABilinearModel) {
  const size_t hidden = 48, inputs = 40;
  for (LinalgBackend kind : backends())
    for (bool bias : {false, true}) {
      const Layer layer = random_layer(hidden, inputs, bias, GateKind::Identity);
      const Matrix<double> q = random_matrix(1, hidden, 300), x = random_matrix(1000, inputs, 301);
      const Spectrum s = eigh(backend(kind), interaction(backend(kind), layer.view(), q.view().row(0)));
      EXPECT_EQ(s.width(), inputs + (bias ? 1 : 0));
      for (size_t i = 0; i < x.rows(); i++) {
        const double logit = exact_output(layer.view(), q.view().row(0), x.view().row(i));
        double sum = 0, size = 0;
        for (double c : contributions(s, x.view().row(i))) sum += c, size += std::fabs(c);
        EXPECT_NEAR(sum, logit, 1e-9 * std::max(1.0, std::fabs(logit))) << "input " << i;
        EXPECT_NEAR(sum, logit, 1e-13 * size) << "input " << i;
      }
    }
}

TEST(Interaction, IsExactlySymmetric) {
  const Layer layer = random_layer(70, 65, true, GateKind::Sqs);
  const Matrix<double> weights = random_matrix(1, 70, 302);
  for (LinalgBackend kind : backends()) {
    const Matrix<double> q = interaction(backend(kind), layer.view(), weights.view().row(0));
    for (size_t i = 0; i < q.rows(); i++)
      for (size_t j = 0; j < i; j++) EXPECT_EQ(q(i, j), q(j, i));
  }
}

TEST(Interaction, DoesNotChangeWhenHiddenUnitsArePermuted) {
  const size_t hidden = 30, inputs = 21;
  const Layer layer = random_layer(hidden, inputs, true, GateKind::Sqs);
  const Matrix<double> weights = random_matrix(1, hidden, 303);
  const std::vector<uint32_t> order = Rng(3, Stream::test).permutation(hidden);
  Layer moved = layer;
  Matrix<double> moved_weights = weights;
  for (size_t h = 0; h < hidden; h++) {
    std::copy_n(layer.left.view().row_ptr(order[h]), inputs, moved.left.view().row_ptr(h));
    std::copy_n(layer.right.view().row_ptr(order[h]), inputs, moved.right.view().row_ptr(h));
    moved.bias_left[h] = layer.bias_left[order[h]];
    moved.bias_right[h] = layer.bias_right[order[h]];
    moved_weights(0, h) = weights(0, order[h]);
  }
  for (LinalgBackend kind : backends())
    expect_same_matrix(interaction(backend(kind), layer.view(), weights.view().row(0)),
                       interaction(backend(kind), moved.view(), moved_weights.view().row(0)), 1e-13);
}

TEST(Interaction, DoesNotChangeWhenLeftAndRightSwap) {
  const Layer layer = random_layer(30, 21, true, GateKind::Identity);
  const GluLayerView v = layer.view();
  const GluLayerView swapped{v.right, v.left, v.bias_right, v.bias_left, v.gate};
  const Matrix<double> weights = random_matrix(1, 30, 304);
  for (LinalgBackend kind : backends())
    expect_same_matrix(interaction(backend(kind), v, weights.view().row(0)),
                       interaction(backend(kind), swapped, weights.view().row(0)), 1e-13);
}

TEST(Interaction, IsLinearInTheOutputDirection) {
  const Layer layer = random_layer(16, 12, false, GateKind::Identity);
  const Matrix<double> w = random_matrix(2, 16, 305);
  Matrix<double> difference(1, 16);
  for (size_t h = 0; h < 16; h++) difference(0, h) = w(0, h) - w(1, h);
  const LinearAlgebra& la = backend(LinalgBackend::openblas);
  Matrix<double> a = interaction(la, layer.view(), w.view().row(0));
  const Matrix<double> b = interaction(la, layer.view(), w.view().row(1));
  for (size_t i = 0; i < a.size(); i++) a.data()[i] -= b.data()[i];
  expect_same_matrix(a, interaction(la, layer.view(), difference.view().row(0)), 1e-13);
}

TEST(Interaction, MatrixFreeProductIsTheProduct) {
  for (LinalgBackend kind : backends())
    for (bool bias : {false, true}) {
      const Layer layer = random_layer(37, 29, bias, GateKind::Sqs);
      const Matrix<double> w = random_matrix(1, 37, 306), x = random_matrix(3, layer.view().width(), 307);
      const Matrix<double> q = interaction(backend(kind), layer.view(), w.view().row(0));
      Matrix<double> y(x.rows(), x.cols());
      ThreadPool pool(2);
      InteractionOperator({backend(kind), pool, layer.view()}).apply(w.view().row(0), x, y);
      for (size_t r = 0; r < y.rows(); r++)
        for (size_t i = 0; i < y.cols(); i++) EXPECT_NEAR(y(r, i), dot(q.view().row(i), x.view().row(r)), 1e-12);
    }
}

// More hidden units than one part has, and a last block that is not full.
TEST(Interaction, MatrixFreeProductHasTheSameBitsAtAnyNumberOfThreads) {
  const Layer layer = random_layer(1100, 21, true, GateKind::Sqs);
  const Matrix<double> w = random_matrix(1, 1100, 308), x = random_matrix(3, layer.view().width(), 309);
  for (LinalgBackend kind : backends()) {
    const Matrix<double> q = interaction(backend(kind), layer.view(), w.view().row(0));
    Matrix<double> first;
    for (size_t threads : {1u, 2u, 3u, 7u}) {
      ThreadPool pool(threads);
      InteractionOperator product({backend(kind), pool, layer.view()});
      Matrix<double> y(x.rows(), x.cols());
      product.apply(w.view().row(0), x, y);
      product.apply(w.view().row(0), x, y);  // sums of an earlier product must not stay
      if (threads == 1) {
        for (size_t r = 0; r < y.rows(); r++)
          for (size_t i = 0; i < y.cols(); i++) EXPECT_NEAR(y(r, i), dot(q.view().row(i), x.view().row(r)), 1e-11);
        first = y;
      }
      EXPECT_TRUE(std::ranges::equal(y.span(), first.span())) << threads;
    }
  }
}

TEST(Interaction, HiddenWeightsGoThroughTheProjection) {
  const Matrix<double> u = random_matrix(2, 5, 308);
  const Matrix<float> p = random_matrix<float>(5, 9, 309);
  const Matrix<double> q = hidden_weights(backend(LinalgBackend::openblas), u, p);
  for (size_t r = 0; r < 2; r++)
    for (size_t h = 0; h < 9; h++) {
      double sum = 0;
      for (size_t o = 0; o < 5; o++) sum += u(r, o) * static_cast<double>(p(o, h));
      EXPECT_NEAR(q(r, h), sum, 1e-14);
    }
}

TEST(Interaction, FeaturesGiveTheProjectionOfTheEmbeddedInput) {
  const size_t d = 8, pixels = 13;
  const Matrix<float> e = random_matrix<float>(d, pixels, 310), bias = random_matrix<float>(1, d, 311);
  Matrix<float> tokens(pixels, d);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < pixels; j++) tokens(j, i) = e(i, j);
  const Matrix<double> p = random_matrix(1, pixels, 313);
  for (size_t width : {d, d + 1}) {
    const Matrix<double> v = random_matrix(3, width, 312);
    for (bool row_is_input : {false, true}) {
      const Features f = features(backend(LinalgBackend::openblas), v,
                                  {row_is_input ? tokens.view() : e.view(), row_is_input, bias.view().row(0)});
      for (size_t k = 0; k < 3; k++) {
        double expected = width > d ? v(k, d) : 0;
        for (size_t i = 0; i < d; i++) {
          double x = bias(0, i);
          for (size_t j = 0; j < pixels; j++) x += static_cast<double>(e(i, j)) * p(0, j);
          expected += v(k, i) * x;
        }
        EXPECT_NEAR(dot(f.maps.view().row(k), p.view().row(0)) + f.offsets[k], expected, 1e-12);
      }
    }
  }
}

TEST(Interaction, ShapesThatDoNotFitAreBadFiles) {
  const Layer layer = random_layer(6, 4, true, GateKind::Sqs);
  GluLayerView v = layer.view();
  check(v, "blocks.0");
  v.right = v.right.row_range(0, 5);
  try {
    check(v, "blocks.0");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file);
    EXPECT_EQ(e.parts().where, "blocks.0");
    EXPECT_NE(e.parts().what.find("5 x 4"), std::string::npos);
  }
  v = layer.view();
  v.bias_right = v.bias_right.subspan(1);
  EXPECT_THROW(check(v, "blocks.0"), Error);
}

TEST(Interaction, BitsDoNotDependOnTheNumberOfThreads) {
  const Layer layer = random_layer(64, 50, true, GateKind::Sqs);
  const Matrix<double> w = random_matrix(11, 64, 314);
  for (LinalgBackend kind : backends()) {
    ThreadPool one(1);
    const std::vector<Spectrum> expected = interaction_spectra({backend(kind), one, layer.view()}, w);
    for (size_t threads : {2u, 3u, 7u}) {
      ThreadPool pool(threads);
      const std::vector<Spectrum> got = interaction_spectra({backend(kind), pool, layer.view()}, w);
      for (size_t u = 0; u < w.rows(); u++) {
        EXPECT_EQ(got[u].values, expected[u].values);
        EXPECT_TRUE(std::ranges::equal(got[u].vectors.span(), expected[u].vectors.span()));
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------

TEST(Lanczos, AgreesWithTheFullDecomposition) {
  for (LinalgBackend kind : backends())
    for (bool bias : {false, true}) {
      const Layer layer = random_layer(150, 140, bias, GateKind::Sqs);
      const Matrix<double> w = random_matrix(1, 150, 320);
      const Spectrum full = eigh(backend(kind), interaction(backend(kind), layer.view(), w.view().row(0)));
      const double scale = std::max(full.values.front(), -full.values.back());
      ThreadPool pool(2);
      for (TopBy by : {TopBy::magnitude, TopBy::both_ends})
        for (size_t k : {1u, 2u, 7u, 20u}) {
          const Spectrum top = top_interaction({backend(kind), pool, layer.view()}, w.view().row(0), k, {.by = by});
          ASSERT_EQ(top.count(), k);
          std::vector<uint32_t> expected;
          if (by == TopBy::magnitude) {
            expected = order_by_magnitude(full.values);
            expected.resize(k);
          } else {
            for (size_t i = 0; i < (k + 1) / 2; i++) expected.push_back(static_cast<uint32_t>(i));
            for (size_t i = 0; i < k / 2; i++) expected.push_back(static_cast<uint32_t>(full.count() - 1 - i));
          }
          std::sort(expected.begin(), expected.end());
          for (size_t i = 0; i < k; i++) {
            EXPECT_NEAR(top.values[i], full.values[expected[i]], 1e-12 * scale);
            EXPECT_NEAR(dot(top.vectors.view().row(i), full.vectors.view().row(expected[i])), 1, 1e-12);
          }
        }
    }
}

ApplySymmetric product_with(const Matrix<double>& m) {
  return [&m](ConstMatrixView<double> x, MatrixView<double> y) {
    for (size_t r = 0; r < x.rows(); r++)
      for (size_t i = 0; i < y.cols(); i++) y(r, i) = dot(m.view().row(i), x.row(r));
  };
}

TEST(Lanczos, FindsRepeatedEigenvaluesAsOftenAsTheyOccur) {
  const LinearAlgebra& la = backend(LinalgBackend::openblas);
  ThreadPool pool(2);
  const size_t n = 160;
  const Matrix<double> basis = random_orthonormal(la, n, 330);
  std::vector<double> values(n);
  for (size_t i = 0; i < n; i++) values[i] = 0.01 * static_cast<double>(i) / n;
  for (size_t i = 0; i < 20; i++) values[i] = 5;  // more often than a block of start vectors sees
  values[20] = -4, values[21] = -4, values[22] = 3;
  const Matrix<double> m = compose(values, basis);
  for (size_t k : {3u, 23u}) {  // fewer than the first repeats, and all of the strong ones
    const Spectrum top = top_eigenpairs(la, pool, product_with(m), n, k);
    ASSERT_EQ(top.count(), k);
    for (size_t i = 0; i < std::min<size_t>(k, 20); i++) EXPECT_NEAR(top.values[i], 5, 1e-11);
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j <= i; j++)
        EXPECT_NEAR(dot(top.vectors.view().row(i), top.vectors.view().row(j)), i == j ? 1 : 0, 1e-12);
    if (k < 23) continue;
    EXPECT_NEAR(top.values[20], 3, 1e-11);
    EXPECT_NEAR(top.values[21], -4, 1e-11);
    EXPECT_NEAR(top.values[22], -4, 1e-11);
    EXPECT_EQ(top.groups[19], 0u);
    EXPECT_EQ(top.groups[20], 1u);
    EXPECT_EQ(top.groups[22], 2u);
  }
}

// Wider than what the basis holds: it is shrunk on the way. An eigenvector is off by its residual
// over the distance to its neighbours.
TEST(Lanczos, AgreesWithTheFullDecompositionWhenTheBasisIsFull) {
  const LinearAlgebra& la = backend(LinalgBackend::openblas);
  const size_t n = 520, k = 12;
  const Matrix<double> m = random_symmetric(n, 335);
  const Spectrum full = eigh(la, m);
  const double scale = std::max(full.values.front(), -full.values.back());
  Spectrum first;
  for (const size_t threads : {1u, 2u, 7u}) {
    ThreadPool pool(threads);
    size_t products = 0;
    const ApplySymmetric apply = [&](ConstMatrixView<double> x, MatrixView<double> y) {
      products += x.rows();
      product_with(m)(x, y);
    };
    const Spectrum top = top_eigenpairs(la, pool, apply, n, k, {.by = TopBy::both_ends});
    EXPECT_GT(products, n / 4);
    if (threads == 1) first = top;
    EXPECT_EQ(top.values, first.values) << threads;
    EXPECT_TRUE(std::ranges::equal(top.vectors.span(), first.vectors.span())) << threads;
    for (size_t i = 0; i < k; i++) {
      const size_t j = i < k / 2 ? i : n - k + i;
      EXPECT_NEAR(top.values[i], full.values[j], 1e-12 * scale);
      EXPECT_NEAR(dot(top.vectors.view().row(i), full.vectors.view().row(j)), 1, 1e-12);
    }
  }
}

TEST(Lanczos, LowRankZeroAndSmallMatrices) {
  const LinearAlgebra& la = backend(LinalgBackend::openblas);
  ThreadPool pool(2);
  const Matrix<double> zero(90, 90);
  const Spectrum none = top_eigenpairs(la, pool, product_with(zero), 90, 3);
  ASSERT_EQ(none.count(), 3u);
  for (double v : none.values) EXPECT_EQ(v, 0);
  const Matrix<double> rank_one = compose(std::vector<double>{-2}, random_orthonormal(la, 90, 331));
  const Spectrum one = top_eigenpairs(la, pool, product_with(rank_one), 90, 3);
  EXPECT_NEAR(one.values[2], -2, 1e-12);
  EXPECT_NEAR(one.values[0], 0, 1e-12);
  for (size_t n : {1u, 2u, 3u, 9u}) {
    const Matrix<double> m = random_symmetric(n, 332);
    const Spectrum all = top_eigenpairs(la, pool, product_with(m), n, 100), full = eigh(la, m);
    ASSERT_EQ(all.count(), n) << "no more than there are";
    for (size_t i = 0; i < n; i++) EXPECT_NEAR(all.values[i], full.values[i], 1e-13 * n);
  }
  EXPECT_EQ(top_eigenpairs(la, pool, product_with(zero), 90, 0).count(), 0u);
  EXPECT_EQ(top_eigenpairs(la, pool, product_with(Matrix<double>(0, 0)), 0, 4).count(), 0u);
}

TEST(Lanczos, GivesTheSameBitsTwice) {
  const Layer layer = random_layer(120, 100, false, GateKind::Sqs);
  const Matrix<double> w = random_matrix(1, 120, 333);
  const LinearAlgebra& la = backend(LinalgBackend::openblas);
  ThreadPool pool(2);
  const Spectrum a = top_interaction({la, pool, layer.view()}, w.view().row(0), 6),
                 b = top_interaction({la, pool, layer.view()}, w.view().row(0), 6);
  EXPECT_EQ(a.values, b.values);
  EXPECT_TRUE(std::ranges::equal(a.vectors.span(), b.vectors.span()));
}

TEST(Lanczos, NotANumberAndNoConvergenceAreNumericErrors) {
  const LinearAlgebra& la = backend(LinalgBackend::openblas);
  ThreadPool pool(2);
  const auto code = [&](const ApplySymmetric& apply, const LanczosOptions& options) {
    try {
      top_eigenpairs(la, pool, apply, 200, 4, options);
    } catch (const Error& e) {
      return e.exit_code();
    }
    return 0;
  };
  const Matrix<double> m = random_symmetric(200, 334);
  EXPECT_EQ(code(product_with(m), {}), 0);
  EXPECT_EQ(code(product_with(m), {.max_products = 20}), 4);
  EXPECT_EQ(code([](auto, MatrixView<double> y) { std::fill_n(y.data(), y.rows() * y.cols(), std::nan("")); }, {}), 4);
}

}  // namespace
}  // namespace glint
