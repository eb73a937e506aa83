// Time to decompose the outputs of a layer: eigenpairs alone (what peers are compared with), interaction
// matrices alone, both, and the matrix-free top of a spectrum.
#include <benchmark/benchmark.h>

#include "glint/base/rng.h"
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
    const auto spectra = interaction_spectra(linalg, pool, layer.view(), layer.weights);
    benchmark::DoNotOptimize(spectra.front().values.front());
  }
}

void top_10_matrix_free(benchmark::State& state) {
  const Layer layer(static_cast<size_t>(state.range(0)));
  const LinearAlgebra linalg;
  ThreadPool pool(static_cast<size_t>(state.range(1)));
  for (auto _ : state) {
    const Spectrum top = top_interaction(linalg, pool, layer.view(), layer.weights.view().row(0), 10);
    benchmark::DoNotOptimize(top.values.front());
  }
}

constexpr auto kMs = benchmark::kMillisecond;
BENCHMARK(eigenpairs_10)->ArgsProduct({{256, 512, 784}, {1, 2}})->UseRealTime()->Unit(kMs);
BENCHMARK(eigenpairs_4096)->Args({128, 1})->Args({128, 2})->UseRealTime()->Unit(kMs)->Iterations(1);
BENCHMARK(interaction_10)->Arg(256)->Arg(512)->Arg(784)->UseRealTime()->Unit(kMs);
BENCHMARK(spectra_10)->ArgsProduct({{256, 512, 784}, {1, 2}})->UseRealTime()->Unit(kMs);
BENCHMARK(top_10_matrix_free)->ArgsProduct({{512, 2048}, {1, 2}})->UseRealTime()->Unit(kMs);

}  // namespace
}  // namespace glint

BENCHMARK_MAIN();
