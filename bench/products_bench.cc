// The three matrix products of training on one thread, beside OpenBLAS in the same run (what PyTorch uses):
// GF/s by the thread's own CPU time, so that neighbours on the machine count less.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

#include "glint/base/arena.h"
#include "glint/base/rng.h"
#include "glint/nn/linear.h"
#include "glint/spectra/linalg.h"

namespace {

using namespace glint;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Lower quartiles of both, taking turns.
template <class A, class B>
std::pair<double, double> race(size_t repeats, const A& ours, const B& theirs) {
  std::vector<double> a, b;
  ours(), theirs();
  for (size_t i = 0; i < repeats; i++) {
    const double t0 = cpu_seconds();
    ours();
    const double t1 = cpu_seconds();
    theirs();
    a.push_back(t1 - t0);
    b.push_back(cpu_seconds() - t1);
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return {a[repeats / 4], b[repeats / 4]};
}

}  // namespace

int main() {
  const CpuInfo cpu = detect_cpu();
  const Products products(kernels(cpu.best));
  const LinearAlgebra blas(LinalgBackend::automatic, cpu);
  Scratch scratch(1);
  std::printf("f32, one thread, %s; peer: %s\n", describe(cpu).c_str(), blas.description().c_str());
  std::printf("%6s %6s %6s   %-24s %-24s %s\n", "m", "n", "k", "glint X W', dY W, dY' X", "OpenBLAS",
              "ratio");
  const size_t shapes[][3] = {{256, 512, 256},   {2048, 512, 256},  {256, 1024, 512}, {2048, 1024, 512},
                              {512, 2048, 1024}, {512, 4096, 2048}, {2048, 256, 784}, {2048, 512, 784}};
  double logs[3] = {};
  for (const auto& [m, n, k] : shapes) {
    Arena arena(2 * Arena::bytes_for_padded(m, k) + Arena::bytes_for_padded(m, n));
    const MatrixView<float> x = arena.padded(m, k), dx = arena.padded(m, k), y = arena.padded(m, n);
    Matrix<float> w(n, k), dw(n, k), x2(m, k), y2(m, n), dx2(m, k), dw2(n, k);
    const Rng rng(1, Stream::test);
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < k; j++) x2(i, j) = x(i, j) = static_cast<float>(rng.uniform(i * k + j) - 0.5);
    for (size_t i = 0; i < w.size(); i++) w.data()[i] = static_cast<float>(rng.uniform(i + 1000000000) - 0.5);
    ThreadPool pool(1);
    const Compute compute{products, pool, scratch};
    PackedWeights packed(products, n, k);
    packed.pack_all(compute, w);
    const double work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 1e9;
    const size_t repeats = std::clamp<size_t>(static_cast<size_t>(15 / work), 5, 41);
    const auto chunks = [&](const auto& body) {
      for (size_t c = 0; c < chunk_count(m); c++) body(chunk_range(m, c));
    };
    const std::pair<double, double> times[3] = {
        race(
            repeats,
            [&] {
              chunks([&](Range r) {
                linear_forward(products, x.row_range(r.first, r.count), packed, y.row_range(r.first, r.count),
                               scratch[0]);
              });
            },
            [&] { blas.gemm(Op::plain, Op::transposed, 1.0f, x2, w, 0.0f, y2); }),
        race(
            repeats,
            [&] {
              chunks([&](Range r) {
                linear_backward(products, y.row_range(r.first, r.count), packed,
                                dx.row_range(r.first, r.count), false, scratch[0]);
              });
            },
            [&] { blas.gemm(Op::plain, Op::plain, 1.0f, y2, w, 0.0f, dx2); }),
        race(
            repeats,
            [&] {
              for (size_t t = 0; t < weight_gradient_tiles(products, n); t++)
                weight_gradient_tile(products, y, x, dw, t, scratch[0]);
            },
            [&] { blas.gemm(Op::transposed, Op::plain, 1.0f, y2, x2, 0.0f, dw2); })};
    std::printf("%6zu %6zu %6zu   ", m, n, k);
    for (const auto& t : times) std::printf("%6.1f ", work / t.first);
    std::printf("    ");
    for (const auto& t : times) std::printf("%6.1f ", work / t.second);
    std::printf("    ");
    for (size_t i = 0; i < 3; i++) {
      std::printf("%5.2f ", times[i].second / times[i].first);
      logs[i] += std::log(times[i].second / times[i].first) / static_cast<double>(std::size(shapes));
    }
    std::printf("\n");
  }
  std::printf("geometric mean of the ratios: %.3f %.3f %.3f\n", std::exp(logs[0]), std::exp(logs[1]),
              std::exp(logs[2]));
}
