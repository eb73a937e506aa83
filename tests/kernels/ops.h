// The table of operations that the tests run through. An operation makes a case of a shape: its inputs, how
// to run it over fixed tiles on a pool, what the double reference says and how far rounding may lead away
// from it.
#pragma once

#include <functional>

#include "glint/base/threads.h"
#include "glint/kernels/bf16.h"
#include "glint/kernels/gemm.h"
#include "glint/kernels/kernels.h"
#include "glint/kernels/reference.h"
#include "tests/kernels/testing.h"

namespace glint::model_testing {

struct Shape {
  size_t rows = 0, cols = 0, depth = 0;  // depth: k of a product
  size_t pad = 0;                        // stride - cols
};

// One result of a run: its numbers, and all its bytes with the guards around them.
struct Output {
  std::string name;
  Matrix<double> values;
  std::vector<std::byte> bytes;
  bool intact;
};
template <class T>
Output output(std::string name, const Guarded<T>& g) {
  Matrix<double> values(g.view().rows(), g.view().cols());
  for (size_t i = 0; i < values.rows(); i++)
    for (size_t j = 0; j < values.cols(); j++) values(i, j) = static_cast<double>(g.view()(i, j));
  const auto bytes = std::as_bytes(std::span<const T>(g.all()));
  return {std::move(name), std::move(values), {bytes.begin(), bytes.end()}, g.intact()};
}

// |value of the run - value| <= bound, element by element.
struct Expected {
  Matrix<double> value, bound;
};

struct Target {
  std::string name;
  Products products;
  const Kernels& kernels() const { return products.kernels(); }
};

struct Case {
  std::function<std::vector<Output>(const Target&, ThreadPool&, Scratch&)> run;
  std::vector<Expected> expected;  // in the order of the outputs
};

struct Op {
  std::string name;
  std::vector<Target> targets;
  std::vector<Shape> shapes;
  std::function<Case(const Shape&)> make;
  std::string missing = {};  // why there is no target on this machine
};

inline std::vector<Target> every_isa() {
  std::vector<Target> targets;
  for (const Isa isa : runnable_isas(cpu())) targets.push_back({std::string(name(isa)), Products(kernels(isa))});
  return targets;
}

// body(first, count, worker) over rows in tiles of `step`: borders do not depend on the threads.
template <class Body>
void for_row_tiles(ThreadPool& pool, size_t rows, size_t step, const Body& body) {
  pool.for_tiles((rows + step - 1) / step,
                 [&](size_t tile, size_t worker) { body(tile * step, std::min(step, rows - tile * step), worker); });
}

inline Matrix<double> column(const std::vector<double>& v) {
  Matrix<double> m(v.size(), 1);
  std::copy(v.begin(), v.end(), m.data());
  return m;
}

// Every width from `least` to 67 with few rows, some numbers of rows, odd strides, and the shapes of
// training.
inline std::vector<Shape> row_shapes(size_t least, bool largest = true) {
  constexpr size_t kPads[] = {0, 1, 3, 13};
  std::vector<Shape> shapes;
  for (size_t n = least; n <= 67; n++) shapes.push_back({3 + n % 5, n, 0, kPads[n % 4]});
  for (const size_t rows : {0, 1, 2, 17, 67})
    for (const size_t cols : {1, 10, 33}) shapes.push_back({rows, cols, 0, kPads[(rows + cols) % 4]});
  for (const auto& [rows, cols] : {std::pair<size_t, size_t>{512, 10}, {2048, 10}, {512, 256}, {64, 2048}})
    shapes.push_back({rows, cols, 0, cols == 256 ? 13u : 0u});
  if (largest) shapes.push_back({2048, 512});
  return shapes;
}
// The same for one long row.
inline std::vector<Shape> flat_shapes() {
  std::vector<Shape> shapes;
  for (size_t n = 0; n <= 67; n++) shapes.push_back({1, n});
  for (const size_t n : {256, 784, 2048, 65541, 524288}) shapes.push_back({1, n});
  return shapes;
}

std::vector<Op> gate_ops();     // ops_gates_test.cc
std::vector<Op> row_ops();      // ops_rows_test.cc
std::vector<Op> update_ops();   // ops_update_test.cc
std::vector<Op> product_ops();  // ops_products_test.cc
std::vector<Op> text_ops();     // ops_text_test.cc
std::vector<Op> stored_ops();   // ops_stored_test.cc
std::vector<Op> double_ops();   // ops_doubles_test.cc

}  // namespace glint::model_testing
