// The strongest eigenpairs of a wide GLU layer, matrix-free, from weights as a file stores them: a line of
// JSON. bench/peers/bench_solver.py runs it beside SciPy.
//   solver_bench FILE LEFT RIGHT NORM Q K THREADS REPEATS
// LEFT, RIGHT and NORM (or -) are tensors of the file, Q a .npy file with the weights of the hidden units;
// half of the K eigenpairs are of either end.
#include <chrono>
#include <fstream>
#include <iostream>

#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/io/npy.h"
#include "glint/io/weight_file.h"
#include "glint/spectra/lanczos.h"

namespace glint {
namespace {

// Of this program alone: getrusage would count what the one that started it had.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes / 1024;
    }
  return 0;
}

int run(const std::vector<std::string>& args) {
  if (args.size() != 8) throw Error({.code = ErrorCode::usage, .what = "8 arguments are expected"});
  const WeightFile file = open_weights(args[0]);
  const StoredTensor &left = file.at(args[1]), &right = file.at(args[2]);
  std::vector<float> norm;
  if (args[3] != "-") norm.resize(file.at(args[3]).values()), widen(file.at(args[3]), 0, norm);
  const Matrix<double> q = read_npy<double>(args[4]);
  const size_t k = std::stoul(args[5]), threads = std::stoul(args[6]), repeats = std::stoul(args[7]);

  const CpuInfo cpu = detect_cpu();
  const LinearAlgebra linalg(LinalgBackend::automatic, cpu, threads);
  ThreadPool pool(threads);
  const StoredMatrix l{&left, 0, left.rows(), left.cols()}, r{&right, 0, right.rows(), right.cols()};
  const GluLayerView layer{.left = {l, linalg.kernels(), {}, norm},
                           .right = {r, linalg.kernels(), {}, norm},
                           .bias_left = {},
                           .bias_right = {},
                           .gate = {}};
  check(layer, args[0]);
  if (q.size() != layer.hidden()) throw Error({.code = ErrorCode::usage, .what = "Q has another length"});
  Json out = {{"linalg", linalg.description()},
              {"layer_mb", static_cast<double>(left.bytes.size() + right.bytes.size()) / (1 << 20)},
              {"ms", Json::array()}};
  for (size_t i = 0; i < repeats; i++) {
    size_t products = 0;
    const auto start = std::chrono::steady_clock::now();
    InteractionOperator q_times({linalg, pool, layer});
    const Spectrum top = top_eigenpairs(linalg, pool,
                                        [&](ConstMatrixView<double> x, MatrixView<double> y) {
                                          products += x.rows();
                                          q_times.apply(q.span(), x, y);
                                        },
                                        layer.width(), k, {.by = TopBy::both_ends});
    out["ms"].push_back(1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    out["products"] = products;
    out["values"] = top.values;
  }
  out["peak_mb"] = peak_megabytes();
  std::cout << out.dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace glint

int main(int argc, char** argv) {
  try {
    return glint::run({argv + 1, argv + argc});
  } catch (const glint::Error& e) {
    std::cerr << e.what() << "\n";
    return e.exit_code();
  }
}
