// The three matrix products of training on one thread, f32 beside OpenBLAS in the same run, and where the
// processor has bf16 instructions bf16 beside f32: GF/s by the thread's own CPU time, so that neighbours on
// the machine count less. With three numbers, M N K: the GF/s of one forward product in f32, and nothing
// else.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
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

// One shape: x[m,k], w[n,k], y[m,n], on rows as far apart as in training, and the three products of one
// table.
struct Shape {
  size_t m, n, k;
  double work() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 1e9; }
  size_t repeats() const { return std::clamp<size_t>(static_cast<size_t>(15 / work()), 5, 41); }
};

class Operands {
 public:
  explicit Operands(const Shape& s)
      : arena_(2 * Arena::bytes_for_padded(s.m, s.k) + Arena::bytes_for_padded(s.m, s.n)),
        x(arena_.padded(s.m, s.k)),
        dx(arena_.padded(s.m, s.k)),
        y(arena_.padded(s.m, s.n)),
        w(s.n, s.k),
        dw(s.n, s.k) {
    const Rng rng(1, Stream::test);
    for (size_t i = 0; i < s.m; i++)
      for (size_t j = 0; j < s.k; j++) x(i, j) = static_cast<float>(rng.uniform(i * s.k + j) - 0.5);
    for (size_t i = 0; i < w.size(); i++) w.data()[i] = static_cast<float>(rng.uniform(i + 1000000000) - 0.5);
  }

 private:
  Arena arena_;

 public:
  MatrixView<float> x, dx, y;
  Matrix<float> w, dw;
};

class Ours {
 public:
  Ours(const Products& products, Operands& o) : products_(products), o_(o), packed_(products, o.w.rows(), o.w.cols()) {
    ThreadPool pool(1);
    packed_.pack_all({products, pool, scratch_}, o.w);
  }
  void forward() {
    chunks([&](Range r) {
      linear_forward(products_, o_.x.row_range(r.first, r.count), packed_, o_.y.row_range(r.first, r.count),
                     scratch_[0]);
    });
  }
  void backward() {
    chunks([&](Range r) {
      linear_backward(products_, o_.y.row_range(r.first, r.count), packed_, o_.dx.row_range(r.first, r.count), false,
                      scratch_[0]);
    });
  }
  void gradient() {
    for (size_t t = 0; t < weight_gradient_tiles(products_, o_.w.rows()); t++)
      weight_gradient_tile(products_, o_.y, o_.x, o_.dw, t, scratch_[0]);
  }

 private:
  template <class Body>
  void chunks(const Body& body) {
    for (size_t c = 0; c < chunk_count(o_.x.rows()); c++) body(chunk_range(o_.x.rows(), c));
  }
  const Products& products_;
  Operands& o_;
  Scratch scratch_{1};
  PackedWeights packed_;
};

class Blas {
 public:
  Blas(const LinearAlgebra& blas, const Operands& o)
      : blas_(blas),
        w_(o.w),
        x_(o.x.rows(), o.x.cols()),
        dx_(o.x.rows(), o.x.cols()),
        y_(o.y.rows(), o.y.cols()),
        dw_(o.w.rows(), o.w.cols()) {
    for (size_t i = 0; i < x_.rows(); i++) std::copy_n(o.x.row_ptr(i), x_.cols(), x_.view().row_ptr(i));
  }
  void forward() { blas_.gemm(Op::plain, Op::transposed, 1.0f, x_, w_, 0.0f, y_); }
  void backward() { blas_.gemm(Op::plain, Op::plain, 1.0f, y_, w_, 0.0f, dx_); }
  void gradient() { blas_.gemm(Op::transposed, Op::plain, 1.0f, y_, x_, 0.0f, dw_); }

 private:
  const LinearAlgebra& blas_;
  const Matrix<float>& w_;
  Matrix<float> x_, dx_, y_, dw_;
};

constexpr Shape kShapes[] = {{256, 512, 256},   {2048, 512, 256},  {256, 1024, 512}, {2048, 1024, 512},
                             {512, 2048, 1024}, {512, 4096, 2048}, {2048, 256, 784}, {2048, 512, 784}};

// `make(operands)` gives a pair of contestants: what is measured, and what with.
template <class Make>
void compare(const char* first, const char* second, const Make& make) {
  std::printf("%6s %6s %6s   %-6s %-17s %-24s %s\n", "m", "n", "k", first, "X W', dY W, dY' X", second, "ratio");
  double logs[3] = {};
  for (const Shape& s : kShapes) {
    Operands operands(s);
    auto [a, b] = make(operands);
    const std::pair<double, double> times[] = {race(
                                                   s.repeats(), [&] { a->forward(); }, [&] { b->forward(); }),
                                               race(
                                                   s.repeats(), [&] { a->backward(); }, [&] { b->backward(); }),
                                               race(
                                                   s.repeats(), [&] { a->gradient(); }, [&] { b->gradient(); })};
    std::printf("%6zu %6zu %6zu   ", s.m, s.n, s.k);
    for (const auto& t : times) std::printf("%6.1f ", s.work() / t.first);
    std::printf("    ");
    for (const auto& t : times) std::printf("%6.1f ", s.work() / t.second);
    std::printf("    ");
    for (size_t i = 0; i < 3; i++) {
      std::printf("%5.2f ", times[i].second / times[i].first);
      logs[i] += std::log(times[i].second / times[i].first) / static_cast<double>(std::size(kShapes));
    }
    std::printf("\n");
  }
  std::printf("geometric mean of the ratios: %.3f %.3f %.3f\n", std::exp(logs[0]), std::exp(logs[1]),
              std::exp(logs[2]));
}

}  // namespace

int main(int argc, char** argv) {
  const CpuInfo cpu = detect_cpu();
  const Products f32(kernels(cpu.best));
  if (argc == 4) {
    const Shape s{std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10),
                  std::strtoul(argv[3], nullptr, 10)};
    Operands operands(s);
    Ours ours(f32, operands);
    std::printf("%.3f\n", s.work() / race(
                                         41, [&] { ours.forward(); }, [] {})
                                         .first);
    return 0;
  }
  const LinearAlgebra blas(LinalgBackend::automatic, cpu);
  std::printf("one thread, %s; peer: %s\n", describe(cpu).c_str(), blas.description().c_str());
  compare("f32", "OpenBLAS",
          [&](Operands& o) { return std::pair(std::make_unique<Ours>(f32, o), std::make_unique<Blas>(blas, o)); });
  if (best_bf16(cpu) == Bf16Unit::emulated || best_bf16(cpu) == Bf16Unit::none) return 0;
  const Products bf16(kernels(cpu.best), best_bf16(cpu));
  compare("bf16", "f32",
          [&](Operands& o) { return std::pair(std::make_unique<Ours>(bf16, o), std::make_unique<Ours>(f32, o)); });
}
