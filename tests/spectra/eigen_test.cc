#include "glint/spectra/eigen.h"

#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>

#include "fixtures.h"
#include "tests/base/memory_limit.h"

namespace glint {
namespace {

using namespace fixtures;

double spectral_norm(const Spectrum& s) {
  return s.count() == 0 ? 0 : std::max(std::fabs(s.values.front()), std::fabs(s.values.back()));
}

// What every decomposition must satisfy, to 1e-12 of the norm.
void expect_decomposes(const Matrix<double>& m, const Spectrum& s) {
  const size_t n = m.rows();
  ASSERT_EQ(s.count(), n);
  ASSERT_EQ(s.vectors.rows(), n);
  const double scale = spectral_norm(s);
  double trace = 0, sum = 0, worst_residual = 0, worst_dot = 0;
  for (size_t k = 0; k < n; k++) {
    trace += m(k, k), sum += s.values[k];
    if (k > 0) {
      EXPECT_GE(s.values[k - 1], s.values[k]);
    }
    const std::span<const double> v = s.vectors.view().row(k);
    std::vector<double> residual(n);
    for (size_t i = 0; i < n; i++) residual[i] = dot(m.view().row(i), v) - s.values[k] * v[i];
    worst_residual = std::max(worst_residual, norm(residual));
    for (size_t j = 0; j <= k; j++)
      worst_dot = std::max(worst_dot, std::fabs(dot(v, s.vectors.view().row(j)) - (j == k ? 1 : 0)));
    double largest = 0;
    for (double x : v) largest = std::abs(x) > std::abs(largest) ? x : largest;
    EXPECT_GT(largest, 0) << "sign of vector " << k;
  }
  EXPECT_LE(worst_residual, 1e-12 * scale);
  EXPECT_LE(worst_dot, 1e-12);
  EXPECT_NEAR(trace, sum, 1e-12 * scale * std::max<double>(1, std::sqrt(static_cast<double>(n))));
}

class Eigh : public testing::TestWithParam<LinalgBackend> {
 protected:
  const LinearAlgebra linalg{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Backends, Eigh, testing::ValuesIn(backends()),
                         [](const auto& p) { return p.param == LinalgBackend::openblas ? "OpenBlas" : "Eigen"; });

TEST_P(Eigh, TheForcedBackendIsTheOneUsed) {
  EXPECT_EQ(linalg.uses_openblas(), GetParam() == LinalgBackend::openblas);
  EXPECT_EQ(linalg.description().substr(0, 5), GetParam() == LinalgBackend::openblas ? "OpenB" : "Eigen");
}

TEST_P(Eigh, AgreesWithNumpy) {
  const nlohmann::json all = golden()["matrices"];
  ASSERT_EQ(all.size(), 4u);
  for (const nlohmann::json& g : all) {
    SCOPED_TRACE(g["name"].get<std::string>());
    const Matrix<double> m = to_matrix<double>(g["matrix"]), vectors = to_matrix<double>(g["vectors"]);
    const std::vector<double> values = g["values"].get<std::vector<double>>();
    const Spectrum s = eigh(linalg, m);
    expect_decomposes(m, s);
    const double scale = spectral_norm(s);
    for (size_t k = 0; k < values.size(); k++) {
      EXPECT_NEAR(s.values[k], values[k], 1e-13 * scale);
      if (std::fabs(values[k]) > 1e-3 * scale) {
        EXPECT_NEAR(s.values[k] / values[k], 1, 1e-10);
      }
      // An eigenvector is as certain as its gap: two computations may differ by about 1e-15 scale / gap.
      double gap = scale;
      if (k > 0) gap = std::min(gap, values[k - 1] - values[k]);
      if (k + 1 < values.size()) gap = std::min(gap, values[k] - values[k + 1]);
      if (gap > 1e-6 * scale) {
        EXPECT_NEAR(std::fabs(dot(s.vectors.view().row(k), vectors.view().row(k))), 1, 1e-10) << "vector " << k;
      }
    }
  }
}

TEST_P(Eigh, DecomposesWidthsAroundTheBlockSizes) {
  for (size_t n : {1u, 2u, 3u, 31u, 32u, 33u, 64u, 129u, 300u}) {
    SCOPED_TRACE(n);
    const Matrix<double> m = random_symmetric(n, static_cast<uint32_t>(n));
    expect_decomposes(m, eigh(linalg, m));
  }
}

TEST_P(Eigh, NothingAndOneNumber) {
  const Spectrum none = eigh(linalg, Matrix<double>(0, 0));
  EXPECT_EQ(none.count(), 0u);
  Matrix<double> one(1, 1);
  one(0, 0) = -3;
  const Spectrum s = eigh(linalg, one);
  ASSERT_EQ(s.count(), 1u);
  EXPECT_EQ(s.values[0], -3);
  EXPECT_EQ(s.vectors(0, 0), 1);
}

TEST_P(Eigh, ZeroMatrixIsOneGroup) {
  const Matrix<double> zero(6, 6);
  const Spectrum s = eigh(linalg, zero);
  expect_decomposes(zero, s);
  for (size_t k = 0; k < 6; k++) {
    EXPECT_EQ(s.values[k], 0);
    EXPECT_FALSE(std::signbit(s.values[k]));
    EXPECT_EQ(s.groups[k], 0u);
  }
}

TEST_P(Eigh, RepeatedEigenvaluesSpanTheirSubspace) {
  const size_t n = 12;
  const Matrix<double> basis = random_orthonormal(linalg, n, 5);
  const std::vector<double> values = {7, 7, 7, 2, 1e-9, 0, 0, 0, -4, -4, -5, -5 - 1e-9};
  const Matrix<double> m = compose(values, basis);
  const Spectrum s = eigh(linalg, m);
  expect_decomposes(m, s);
  EXPECT_EQ(s.groups, (std::vector<uint32_t>{0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 4, 4}));
  for (size_t k = 0; k < 3; k++) {  // in the span of the first three
    double inside = 0;
    for (size_t j = 0; j < 3; j++) inside += std::pow(dot(s.vectors.view().row(k), basis.view().row(j)), 2);
    EXPECT_NEAR(inside, 1, 1e-12);
  }
  const Spectrum strict = eigh(linalg, m, 1e-10);
  EXPECT_EQ(strict.groups.back(), 6u) << "a smaller gap separates -5 from -5 - 1e-9, and 1e-9 from 0";
}

TEST_P(Eigh, RankOneFindsItsVector) {
  std::vector<double> v = {3, -4, 12, 0};
  Matrix<double> m(4, 4);
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 4; j++) m(i, j) = -2 * v[i] * v[j];
  const Spectrum s = eigh(linalg, m);
  expect_decomposes(m, s);
  EXPECT_NEAR(s.values[3], -2 * 169, 1e-11);
  for (size_t i = 0; i < 4; i++) EXPECT_NEAR(s.vectors(3, i), v[i] / 13, 1e-14);
}

TEST_P(Eigh, HugeAndTinyEntriesDoNotOverflow) {
  for (double scale : {1e200, 1e-200}) {
    Matrix<double> m = random_symmetric(20, 9);
    const Spectrum plain = eigh(linalg, m);
    for (double& x : m.span()) x *= scale;
    const Spectrum scaled = eigh(linalg, m);
    for (size_t k = 0; k < 20; k++)
      EXPECT_NEAR(scaled.values[k] / scale, plain.values[k], 1e-12 * spectral_norm(plain));
  }
}

TEST_P(Eigh, NotFiniteIsANumericError) {
  for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Matrix<double> m = random_symmetric(5, 3);
    m(3, 1) = m(1, 3) = bad;
    try {
      eigh(linalg, m);
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::numeric);
      EXPECT_NE(e.parts().where.find("row 1, column 3"), std::string::npos) << e.parts().where;
    }
  }
}

TEST_P(Eigh, BitsDoNotDependOnTheNumberOfThreads) {
  const size_t count = 9, n = 70;
  const auto fill = [&](size_t i, size_t, MatrixView<double> out) {
    const Matrix<double> m = random_symmetric(n, static_cast<uint32_t>(i));
    std::copy_n(m.data(), m.size(), out.data());
  };
  ThreadPool one(1);
  const std::vector<Spectrum> expected = eigh_many(linalg, one, count, n, fill);
  for (size_t threads : {2u, 3u, 7u}) {
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 3; repeat++) {
      const std::vector<Spectrum> got = eigh_many(linalg, pool, count, n, fill);
      for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(got[i].values, expected[i].values);
        EXPECT_TRUE(
            std::equal(got[i].vectors.span().begin(), got[i].vectors.span().end(), expected[i].vectors.span().begin()));
      }
    }
  }
  const Spectrum single = eigh(linalg, random_symmetric(n, 4));
  EXPECT_EQ(single.values, expected[4].values);
}

TEST_P(Eigh, AnErrorInOneMatrixOfManyNamesIt) {
  ThreadPool pool(3);
  try {
    eigh_many(linalg, pool, 5, 4, [](size_t i, size_t, MatrixView<double> out) {
      for (size_t r = 0; r < 4; r++)
        for (size_t c = 0; c < 4; c++) out(r, c) = i == 3 && r == 2 && c == 2 ? std::nan("") : 1.0;
    });
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().where, "matrix 3, row 2, column 2");
  }
}

TEST_P(Eigh, ProductsOfEveryOrientation) {
  const Matrix<double> a = random_matrix(5, 7, 1), at = [&] {
    Matrix<double> t(7, 5);
    for (size_t i = 0; i < 5; i++)
      for (size_t j = 0; j < 7; j++) t(j, i) = a(i, j);
    return t;
  }();
  const Matrix<double> b = random_matrix(7, 3, 2), bt = [&] {
    Matrix<double> t(3, 7);
    for (size_t i = 0; i < 7; i++)
      for (size_t j = 0; j < 3; j++) t(j, i) = b(i, j);
    return t;
  }();
  for (Op oa : {Op::plain, Op::transposed})
    for (Op ob : {Op::plain, Op::transposed}) {
      Matrix<double> c(5, 3);
      std::fill_n(c.data(), c.size(), 2.0);
      linalg.gemm(oa, ob, 3.0, oa == Op::plain ? a : at, ob == Op::plain ? b : bt, 0.5, c);
      Matrix<float> cf(5, 3), af(oa == Op::plain ? 5 : 7, oa == Op::plain ? 7 : 5),
          bf(ob == Op::plain ? 7 : 3, ob == Op::plain ? 3 : 7);
      std::fill_n(cf.data(), cf.size(), std::numeric_limits<float>::quiet_NaN());
      std::copy_n((oa == Op::plain ? a : at).data(), af.size(), af.data());
      std::copy_n((ob == Op::plain ? b : bt).data(), bf.size(), bf.data());
      linalg.gemm(oa, ob, 1.0f, af, bf, 0.0f, cf);
      for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 3; j++) {
          double sum = 0;
          for (size_t k = 0; k < 7; k++) sum += a(i, k) * b(k, j);
          EXPECT_NEAR(c(i, j), 3 * sum + 1, 1e-13);
          EXPECT_NEAR(cf(i, j), sum, 1e-5);
        }
    }
}

TEST(EighBackends, AgreeWithEachOther) {
  const LinearAlgebra lapack(LinalgBackend::openblas), plain(LinalgBackend::eigen);
  const Matrix<double> m = random_symmetric(90, 21);
  const Spectrum a = eigh(lapack, m), b = eigh(plain, m);
  for (size_t k = 0; k < a.count(); k++) {
    EXPECT_NEAR(a.values[k], b.values[k], 1e-13 * spectral_norm(a));
    for (size_t i = 0; i < a.width(); i++) EXPECT_NEAR(a.vectors(k, i), b.vectors(k, i), 1e-10);
  }
}

TEST(EighBackends, EqualMagnitudesTakeTheSignOfTheFirst) {
  Matrix<double> m(2, 2);
  m(0, 1) = m(1, 0) = 1;  // eigenvectors (1, 1) and (1, -1), each over sqrt 2
  for (LinalgBackend backend : backends()) {
    const Spectrum s = eigh(LinearAlgebra(backend), m);
    EXPECT_GT(s.vectors(1, 0), 0);
    EXPECT_LT(s.vectors(1, 1), 0);
  }
}

TEST(OpenBlasCoreType, OnlyWhereItsDetectionFails) {
  CpuInfo cpu;
  cpu.family = 25, cpu.best = Isa::v3;
  EXPECT_EQ(openblas_core_type(cpu), "") << "AMD with AVX2";
  cpu.best = Isa::v4;
  EXPECT_EQ(openblas_core_type(cpu), "SkylakeX");
  cpu.family = 6;
  EXPECT_EQ(openblas_core_type(cpu), "SkylakeX") << "Intel with AVX-512";
  cpu.best = Isa::v3;
  EXPECT_EQ(openblas_core_type(cpu), "Haswell");
  cpu.best = Isa::baseline;
  EXPECT_EQ(openblas_core_type(cpu), "");
}

TEST(OpenBlasEnvironment, IsAsBefore) {
  const auto value = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  const std::string core = value("OPENBLAS_CORETYPE"), threads = value("OPENBLAS_NUM_THREADS");
  CpuInfo cpu = detect_cpu();
  const LinearAlgebra linalg(LinalgBackend::automatic, cpu);
  EXPECT_EQ(value("OPENBLAS_CORETYPE"), core);
  EXPECT_EQ(value("OPENBLAS_NUM_THREADS"), threads);
}

// More callers than buffers wait for their turn; the bits do not change.
TEST(OpenBlas, ManyThreadsAtOnce) {
  const LinearAlgebra linalg(LinalgBackend::openblas, detect_cpu(), 1);
  const Matrix<double> m = random_symmetric(70, 5);
  const Spectrum expected = eigh(linalg, m);
  std::vector<Spectrum> found(12);
  std::vector<std::thread> threads;
  for (Spectrum& s : found) threads.emplace_back([&] { s = eigh(linalg, m); });
  for (std::thread& t : threads) t.join();
  for (const Spectrum& s : found) EXPECT_EQ(s.values, expected.values);
}

// OpenBLAS asks again for ever when it gets no memory.
TEST(OpenBlasDeathTest, WithoutRoomThereIsEigenAndANote) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#else
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto try_it = [](LinalgBackend backend) {
    limit_memory(size_t{150} << 20);
    try {
      const LinearAlgebra linalg(backend);
      const Spectrum s = eigh(linalg, random_symmetric(70, 5));
      std::fprintf(stderr, "%s: %s\n", linalg.description().c_str(), linalg.note().c_str());
      std::_Exit(linalg.uses_openblas() || s.count() != 70 ? 100 : 0);
    } catch (const Error& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::_Exit(e.exit_code());
    }
  };
  EXPECT_EXIT(try_it(LinalgBackend::automatic), testing::ExitedWithCode(0), "Eigen.*: .*no room for OpenBLAS");
  EXPECT_EXIT(try_it(LinalgBackend::openblas), testing::ExitedWithCode(1), "no room for OpenBLAS");
  EXPECT_EXIT(try_it(LinalgBackend::eigen), testing::ExitedWithCode(0), "Eigen [0-9.]*: \n");
#endif
}

TEST(OrderByMagnitude, IsStable) {
  const std::vector<double> v = {3, 1, -1, -3, -4};
  EXPECT_EQ(order_by_magnitude(v), (std::vector<uint32_t>{4, 0, 3, 1, 2}));
}

}  // namespace
}  // namespace glint
