// Time to decompose the outputs of a layer: eigenpairs alone (what peers are compared with), interaction
// matrices alone, both, and the matrix-free top of a spectrum; and what --linalg eigen costs.
#include <benchmark/benchmark.h>
#include <time.h>

#include "glint/base/rng.h"
#include "glint/base/statistics.h"
#include "glint/spectra/interaction.h"
#include "glint/spectra/lanczos.h"

namespace glint {
namespace {

constexpr size_t kUnits = 10;

Matrix<double> random_symmetric(size_t n, uint32_t sub) {
  Matrix<double> m(n, n);
  const Rng rng(1, Stream::test, sub);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) m(i, j) = m(j, i) = rng.normal(i * n + j);
  return m;
}

struct Layer {
  explicit Layer(size_t n) : left(n, n), right(n, n), weights(kUnits, n) {
    const Rng rng(2, Stream::test);
    for (size_t i = 0; i < left.size(); i++) {
      left.data()[i] = static_cast<float>(rng.normal(2 * i));
      right.data()[i] = static_cast<float>(rng.normal(2 * i + 1));
    }
    for (size_t i = 0; i < weights.size(); i++) weights.data()[i] = Rng(3, Stream::test).normal(i);
  }
  GluLayerView view() const { return {left, right, {}, {}, Gate{}}; }
  Matrix<float> left, right;
  Matrix<double> weights;
};

// Every program run decomposes once before the clock starts, so that the library is loaded and warm.
void many(benchmark::State& state, size_t count) {
  const auto n = static_cast<size_t>(state.range(0));
  const LinearAlgebra linalg;
  ThreadPool pool(static_cast<size_t>(state.range(1)));
  std::vector<Matrix<double>> matrices;
  for (uint32_t i = 0; i < kUnits; i++) matrices.push_back(random_symmetric(n, i));
  const auto run = [&](size_t how_many) {
    const auto spectra = eigh_many(linalg, pool, how_many, n, [&](size_t i, size_t, MatrixView<double> out) {
      const Matrix<double>& m = matrices[i % kUnits];
      std::copy_n(m.data(), m.size(), out.data());
    });
    benchmark::DoNotOptimize(spectra.front().values.front());
  };
  run(2);
  for (auto _ : state) run(count);
  state.SetLabel(linalg.description());
}

void eigenpairs_10(benchmark::State& state) { many(state, kUnits); }
void eigenpairs_4096(benchmark::State& state) { many(state, 4096); }

void interaction_10(benchmark::State& state) {
  const Layer layer(static_cast<size_t>(state.range(0)));
  const LinearAlgebra linalg;
  for (auto _ : state) {
    const InteractionBuilder builder(linalg, layer.view());
    Matrix<double> out(builder.width(), builder.width()), scratch;
    for (size_t u = 0; u < kUnits; u++) builder.build(layer.weights.view().row(u), out, scratch);
    benchmark::DoNotOptimize(out(0, 0));
  }
}

void spectra_10(benchmark::State& state) {
  const Layer layer(static_cast<size_t>(state.range(0)));
  const LinearAlgebra linalg;
  ThreadPool pool(static_cast<size_t>(state.range(1)));
  for (auto _ : state) {
    const auto spectra = interaction_spectra({linalg, pool, layer.view()}, layer.weights);
    benchmark::DoNotOptimize(spectra.front().values.front());
  }
}

void top_10_matrix_free(benchmark::State& state) {
  const Layer layer(static_cast<size_t>(state.range(0)));
  const LinearAlgebra linalg;
  ThreadPool pool(static_cast<size_t>(state.range(1)));
  for (auto _ : state) {
    const Spectrum top = top_interaction({linalg, pool, layer.view()}, layer.weights.view().row(0), 10);
    benchmark::DoNotOptimize(top.values.front());
  }
}

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Both take turns on the same matrix, on one thread, in CPU time: so that other work on the machine hits them
// alike. The counters are medians; `ratio` is that of the ratios within a turn.
template <class Work>
void eigen_against_openblas(benchmark::State& state, const Work& work) {
  const LinearAlgebra openblas(LinalgBackend::openblas), eigen(LinalgBackend::eigen);
  const Matrix<double> m = random_symmetric(static_cast<size_t>(state.range(0)), 1);
  std::vector<double> first, second, ratios;
  const auto timed = [&](const LinearAlgebra& linalg) {
    const double start = cpu_seconds();
    work(linalg, m);
    return cpu_seconds() - start;
  };
  timed(openblas), timed(eigen);
  for (auto _ : state) {
    first.push_back(timed(openblas));
    second.push_back(timed(eigen));
    ratios.push_back(second.back() / first.back());
  }
  state.counters["openblas_ms"] = 1e3 * quantile(first, 0.5);
  state.counters["eigen_ms"] = 1e3 * quantile(second, 0.5);
  state.counters["ratio"] = quantile(ratios, 0.5);
  state.SetLabel(openblas.description() + ", " + eigen.description());
}

void linalg_eigenpairs(benchmark::State& state) {
  eigen_against_openblas(state, [](const LinearAlgebra& linalg, const Matrix<double>& m) {
    benchmark::DoNotOptimize(eigh(linalg, m).values.front());
  });
}

void linalg_product(benchmark::State& state) {
  eigen_against_openblas(state, [](const LinearAlgebra& linalg, const Matrix<double>& m) {
    Matrix<double> out(m.rows(), m.cols());
    linalg.gemm(Op::plain, Op::transposed, 1.0, m, m, 0.0, out);
    benchmark::DoNotOptimize(out(0, 0));
  });
}

constexpr auto kMs = benchmark::kMillisecond;
BENCHMARK(eigenpairs_10)->ArgsProduct({{256, 512, 784}, {1, 2}})->UseRealTime()->Unit(kMs);
BENCHMARK(eigenpairs_4096)->Args({128, 1})->Args({128, 2})->UseRealTime()->Unit(kMs)->Iterations(1);
BENCHMARK(interaction_10)->Arg(256)->Arg(512)->Arg(784)->UseRealTime()->Unit(kMs);
BENCHMARK(spectra_10)->ArgsProduct({{256, 512, 784}, {1, 2}})->UseRealTime()->Unit(kMs);
BENCHMARK(linalg_eigenpairs)->Arg(256)->Arg(512)->Arg(784)->Iterations(21)->Unit(kMs);
BENCHMARK(linalg_product)->Arg(256)->Arg(512)->Arg(784)->Iterations(21)->Unit(kMs);
BENCHMARK(top_10_matrix_free)->ArgsProduct({{512, 2048}, {1, 2}})->UseRealTime()->Unit(kMs);

}  // namespace
}  // namespace glint

BENCHMARK_MAIN();
