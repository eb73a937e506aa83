#include "glint/nn/gate_arrays.h"

#include <algorithm>
#include <initializer_list>

#include "glint/base/error.h"

namespace glint {
namespace {

constexpr size_t kTileElements = size_t{1} << 14;

// body(first, count) over [0, n) in pieces of `piece`, on the pool when there is much to do. A piece is done
// by one thread: where not all may work there are as many pieces as threads.
template <class Body>
void in_pieces(const Workers& workers, size_t n, size_t piece, size_t elements, const Body& body) {
  if (n == 0) return;
  if (!workers.pool || elements < kLongArray || workers.most == 1) return body(0, n);
  size_t pieces = (n + piece - 1) / piece;
  if (workers.most > 0 && workers.most < workers.pool->size()) {
    piece *= (pieces + workers.most - 1) / workers.most;
    pieces = (n + piece - 1) / piece;
  }
  workers.pool->for_tiles(pieces, [&](size_t tile, size_t) { body(tile * piece, std::min(piece, n - tile * piece)); });
}

template <class T>
void check_shape(const ConstMatrixView<T>& l, const ConstMatrixView<T>& other) {
  check_argument(l.rows() == other.rows() && l.cols() == other.cols(), "glu_array", "arrays of one shape");
}

// Views of one shape without gaps between their rows are long rows of their own: cut into tiles of elements,
// whatever their number of columns. Otherwise tiles are whole rows.
// body(first row, rows, cols, first element of a row)
template <class T, class Body>
void in_tiles(const Workers& workers, std::initializer_list<ConstMatrixView<T>> views, const Body& body) {
  const ConstMatrixView<T>& one = *views.begin();
  const size_t rows = one.rows(), cols = one.cols();
  if (rows == 0 || cols == 0) return;
  const bool gapless =
      std::all_of(views.begin(), views.end(), [&](const auto& v) { return rows == 1 || v.stride() == cols; });
  if (gapless)
    return in_pieces(workers, rows * cols, kTileElements, rows * cols,
                     [&](size_t first, size_t count) { body(0, 1, count, first); });
  in_pieces(workers, rows, std::max<size_t>(1, kTileElements / cols), rows * cols,
            [&](size_t first, size_t count) { body(first, count, cols, 0); });
}

}  // namespace

void gate_array(const Kernels& kernels, const Workers& workers, const Gate& gate, std::span<const float> h,
                std::span<float> value, std::span<float> slope) {
  check_argument((value.empty() || value.size() == h.size()) && (slope.empty() || slope.size() == h.size()),
                 "gate_array", "arrays of one length");
  const auto apply = kernels.gate_apply[static_cast<int>(gate.kind)];
  if (value.empty() && slope.empty()) return;
  in_pieces(workers, h.size(), kTileElements, h.size(), [&](size_t first, size_t count) {
    apply(gate.params, count, h.data() + first, value.empty() ? nullptr : value.data() + first,
          slope.empty() ? nullptr : slope.data() + first);
  });
}

void gate_array(const Workers& workers, const Gate& gate, std::span<const double> h, std::span<double> value,
                std::span<double> slope) {
  check_argument((value.empty() || value.size() == h.size()) && (slope.empty() || slope.size() == h.size()),
                 "gate_array", "arrays of one length");
  const GateInfo& info = gate_info(gate.kind);
  in_pieces(workers, h.size(), kTileElements, h.size(), [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++) {
      if (!value.empty()) value[i] = info.value(h[i], gate.params);
      if (!slope.empty()) slope[i] = info.slope(h[i], gate.params);
    }
  });
}

void gate_array_backward(const Kernels& kernels, const Workers& workers, const Gate& gate, std::span<const float> h,
                         std::span<const float> dy, std::span<float> dh) {
  check_argument(h.size() == dy.size() && h.size() == dh.size(), "gate_array_backward", "arrays of one length");
  const auto apply = kernels.gate_apply[static_cast<int>(gate.kind)];
  in_pieces(workers, h.size(), kTileElements, h.size(), [&](size_t first, size_t count) {
    // A little at a time: the slopes are still in the nearest cache when they are multiplied.
    constexpr size_t kNear = 2048;
    for (size_t at = first; at < first + count; at += kNear) {
      const size_t n = std::min(kNear, first + count - at);
      float* __restrict slope = dh.data() + at;
      const float* __restrict grad = dy.data() + at;
      apply(gate.params, n, h.data() + at, nullptr, slope);
      for (size_t i = 0; i < n; i++) slope[i] *= grad[i];
    }
  });
}

void gate_array_backward(const Workers& workers, const Gate& gate, std::span<const double> h,
                         std::span<const double> dy, std::span<double> dh) {
  check_argument(h.size() == dy.size() && h.size() == dh.size(), "gate_array_backward", "arrays of one length");
  const GateInfo& info = gate_info(gate.kind);
  in_pieces(workers, h.size(), kTileElements, h.size(), [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++) dh[i] = dy[i] * info.slope(h[i], gate.params);
  });
}

void glu_array(const Kernels& kernels, const Workers& workers, const Gate& gate, ConstMatrixView<float> l,
               ConstMatrixView<float> r, MatrixView<float> y) {
  check_shape<float>(l, r);
  check_shape<float>(l, y);
  const auto forward = kernels.glu_forward[static_cast<int>(gate.kind)];
  in_tiles<float>(workers, {l, r, y}, [&](size_t row, size_t rows, size_t cols, size_t at) {
    forward(gate.params, rows, cols, l.row_ptr(row) + at, l.stride(), r.row_ptr(row) + at, r.stride(),
            y.row_ptr(row) + at, y.stride());
  });
}

void glu_array_backward(const Kernels& kernels, const Workers& workers, const Gate& gate, ConstMatrixView<float> l,
                        ConstMatrixView<float> r, ConstMatrixView<float> dy, MatrixView<float> dl,
                        MatrixView<float> dr) {
  for (const ConstMatrixView<float>& other : {r, dy, ConstMatrixView<float>(dl), ConstMatrixView<float>(dr)})
    check_shape<float>(l, other);
  const auto backward = kernels.glu_backward[static_cast<int>(gate.kind)];
  in_tiles<float>(workers, {l, r, dy, dl, dr}, [&](size_t row, size_t rows, size_t cols, size_t at) {
    backward(gate.params, rows, cols, l.row_ptr(row) + at, l.stride(), r.row_ptr(row) + at, r.stride(),
             dy.row_ptr(row) + at, dy.stride(), dl.row_ptr(row) + at, dl.stride(), dr.row_ptr(row) + at, dr.stride());
  });
}

void glu_array(const Workers& workers, const Gate& gate, ConstMatrixView<double> l, ConstMatrixView<double> r,
               MatrixView<double> y) {
  check_shape<double>(l, r);
  check_shape<double>(l, y);
  const GateInfo& info = gate_info(gate.kind);
  in_tiles<double>(workers, {l, r, y}, [&](size_t row, size_t rows, size_t cols, size_t at) {
    for (size_t i = row; i < row + rows; i++)
      for (size_t j = at; j < at + cols; j++)
        y.row_ptr(i)[j] = info.value(l.row_ptr(i)[j], gate.params) * r.row_ptr(i)[j];
  });
}

void glu_array_backward(const Workers& workers, const Gate& gate, ConstMatrixView<double> l, ConstMatrixView<double> r,
                        ConstMatrixView<double> dy, MatrixView<double> dl, MatrixView<double> dr) {
  for (const ConstMatrixView<double>& other : {r, dy, ConstMatrixView<double>(dl), ConstMatrixView<double>(dr)})
    check_shape<double>(l, other);
  const GateInfo& info = gate_info(gate.kind);
  in_tiles<double>(workers, {l, r, dy, dl, dr}, [&](size_t row, size_t rows, size_t cols, size_t at) {
    for (size_t i = row; i < row + rows; i++)
      for (size_t j = at; j < at + cols; j++) {
        const double grad = dy.row_ptr(i)[j], right = r.row_ptr(i)[j], left = l.row_ptr(i)[j];
        dl.row_ptr(i)[j] = grad * right * info.slope(left, gate.params);
        dr.row_ptr(i)[j] = grad * info.value(left, gate.params);
      }
  });
}

}  // namespace glint
