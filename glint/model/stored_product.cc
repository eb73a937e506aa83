#include "glint/model/stored_product.h"

#include <algorithm>
#include <optional>

#include "glint/base/error.h"
#include "glint/nn/glu.h"

namespace glint {
namespace {

// A tile of dot products: so many bytes of weights, enough to be worth handing out.
constexpr size_t kDotBytes = 48 << 10;
// A tile of the packed product: at most so many rows, and floats, of weights.
constexpr size_t kPackedRows = 128, kPackedFloats = size_t{1} << 18, kPackedTiles = 8;

// Both enumerations have the types in one order; grouped_i8, the last, has no kernels.
static_assert(static_cast<int>(StoredType::q6_k) == static_cast<int>(WeightLayout::q6_k) &&
              static_cast<int>(StoredType::grouped_i8) == static_cast<int>(WeightLayout::count));
std::optional<WeightLayout> layout_of(StoredType type) {
  if (type == StoredType::grouped_i8) return {};
  return static_cast<WeightLayout>(type);
}

const std::byte* row_at(const StoredMatrix& w, size_t row) {
  return w.tensor->bytes.data() + (w.first + row) * w.tensor->row_bytes();
}

size_t whole_rows(size_t rows, size_t unit) { return (rows + unit - 1) / unit * unit; }

}  // namespace

void widen_rows(const StoredMatrix& w, size_t first, MatrixView<float> out) {
  for (size_t r = 0; r < out.rows(); r++) widen(*w.tensor, (w.first + first + r) * w.cols, out.row(r).first(w.cols));
}

void widen_rows(const StoredMatrix& w, size_t first, MatrixView<float> out, const Kernels& kernels) {
  const std::optional<WeightLayout> layout = layout_of(w.tensor->type);
  if (!layout) return widen_rows(w, first, out);
  const auto floats = kernels.stored_floats[static_cast<size_t>(*layout)];
  for (size_t r = 0; r < out.rows(); r++) floats(w.cols, row_at(w, first + r), out.row_ptr(r));
}

ConstMatrixView<float> float_view(const StoredMatrix& w) {
  if (w.tensor->type != StoredType::f32 || reinterpret_cast<uintptr_t>(w.tensor->bytes.data()) % alignof(float) != 0)
    return {};
  return {reinterpret_cast<const float*>(row_at(w, 0)), w.rows, w.cols};
}

StoredProducts::StoredProducts(const Compute& compute)
    : compute_(compute), products_(compute.kernels()), memory_(compute.pool.size()) {}

void StoredProducts::cut(std::span<const Task> tasks) {
  pieces_.clear();
  const size_t nr = products_.kernels().nr;
  for (size_t t = 0; t < tasks.size(); t++) {
    const StoredMatrix& w = *tasks[t].w;
    size_t rows = 0;
    if (tasks[t].x.rows() < kMany) {
      rows = std::max<size_t>(4, kDotBytes / std::max<size_t>(1, w.tensor->row_bytes()) / 4 * 4);
    } else {
      const size_t fitting = std::max(nr, kPackedFloats / std::max<size_t>(1, w.cols) / nr * nr);
      rows = std::min({whole_rows((w.rows + kPackedTiles - 1) / kPackedTiles, nr), kPackedRows, fitting});
    }
    for (size_t first = 0; first < w.rows; first += rows)
      pieces_.push_back({static_cast<uint32_t>(t), static_cast<uint32_t>(first),
                         static_cast<uint32_t>(std::min(rows, w.rows - first))});
  }
}

MatrixView<float> StoredProducts::wide(size_t worker, size_t rows, size_t cols) {
  Matrix<float>& buffer = memory_[worker].wide;
  if (buffer.size() < rows * cols) buffer = Matrix<float>(1, rows * cols);
  return {buffer.data(), rows, cols};
}

void StoredProducts::dots(const StoredMatrix& w, Range rows, ConstMatrixView<float> x, MatrixView<float> y,
                          size_t worker) {
  const std::optional<WeightLayout> layout = layout_of(w.tensor->type);
  StoredDots g{.n = rows.count,
               .k = w.cols,
               .w = row_at(w, rows.first),
               .row_bytes = w.tensor->row_bytes(),
               .x = nullptr,
               .y = nullptr,
               .accumulate = !w.bias.empty()};
  if (!layout) {
    const MatrixView<float> floats = wide(worker, rows.count, w.cols);
    widen_rows(w, rows.first, floats);
    g.w = floats.data(), g.row_bytes = w.cols * sizeof(float);
  }
  const auto kernel = products_.kernels().stored_dots[static_cast<size_t>(layout.value_or(WeightLayout::f32))];
  for (size_t i = 0; i < x.rows(); i++) {
    g.x = x.row_ptr(i), g.y = y.row_ptr(i);
    if (g.accumulate) std::copy_n(w.bias.data() + rows.first, rows.count, g.y);
    kernel(g);
  }
}

void StoredProducts::packed(const StoredMatrix& w, Range rows, ConstMatrixView<float> x, MatrixView<float> y,
                            size_t worker) {
  ConstMatrixView<float> floats = float_view(w);
  if (!floats.empty()) {
    floats = floats.row_range(rows.first, rows.count);
  } else {
    const MatrixView<float> buffer = wide(worker, rows.count, w.cols);
    widen_rows(w, rows.first, buffer, products_.kernels());
    floats = buffer;
  }
  Matrix<std::byte>& panels = memory_[worker].packed;
  const size_t bytes = products_.packed_bytes(w.cols, rows.count);
  if (panels.size() < bytes) panels = Matrix<std::byte>(1, bytes);
  products_.pack(floats, Products::Form::transposed, panels.span(), 0, products_.panels(rows.count));
  products_.multiply(x, panels.span(), y, false, compute_.scratch[worker]);
  if (!w.bias.empty())
    products_.kernels().add_bias(y.rows(), y.cols(), w.bias.data() + rows.first, y.data(), y.stride());
}

void StoredProducts::multiply(const StoredMatrix& w, Range rows, ConstMatrixView<float> x, MatrixView<float> y,
                              size_t worker) {
  x.rows() < kMany ? dots(w, rows, x, y, worker) : packed(w, rows, x, y, worker);
}

void StoredProducts::run(std::span<const Task> tasks) {
  for (const Task& t : tasks)
    check_argument(t.x.rows() == t.y.rows() && t.x.cols() == t.w->cols && t.y.cols() == t.w->rows,
                   "StoredProducts::run", "x [m, k], y [m, n] for weights [n, k]");
  cut(tasks);
  compute_.pool.for_tiles(pieces_.size(), [&](size_t i, size_t worker) {
    const Piece& piece = pieces_[i];
    const Task& task = tasks[piece.task];
    multiply(*task.w, {piece.first, piece.rows}, task.x, task.y.col_range(piece.first, piece.rows), worker);
  });
}

void StoredProducts::run_glu(const StoredMatrix& gate, const StoredMatrix& up, const Gate& kind,
                             ConstMatrixView<float> x, MatrixView<float> y) {
  check_argument(x.rows() == y.rows() && x.cols() == gate.cols && y.cols() == gate.rows && up.cols == gate.cols &&
                     up.rows == gate.rows,
                 "StoredProducts::run_glu", "x [m, k], y [m, h] for weights [h, k]");
  const Task task{&gate, x, y};
  cut({&task, 1});
  compute_.pool.for_tiles(pieces_.size(), [&](size_t i, size_t worker) {
    const Range rows{pieces_[i].first, pieces_[i].rows};
    Matrix<float>& buffer = memory_[worker].halves;
    if (buffer.size() < x.rows() * 2 * rows.count) buffer = Matrix<float>(1, x.rows() * 2 * rows.count);
    const MatrixView<float> halves(buffer.data(), x.rows(), 2 * rows.count);
    multiply(gate, rows, x, halves.col_range(0, rows.count), worker);
    multiply(up, rows, x, halves.col_range(rows.count, rows.count), worker);
    gate_forward(products_.kernels(), kind, halves, y.col_range(rows.first, rows.count));
  });
}

}  // namespace glint
