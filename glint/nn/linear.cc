#include "glint/nn/linear.h"

#include "glint/base/error.h"
#include "glint/kernels/bf16.h"

namespace glint {
namespace {

constexpr size_t kPanelsPerPiece = 8;

size_t piece_count(const Products& products, size_t n) {
  return (products.panels(n) + kPanelsPerPiece - 1) / kPanelsPerPiece;
}

// Rows that the product handles in whole register tiles.
size_t row_unit(const Products& products) {
  return products.precision() == Precision::bf16 ? kBf16Block : products.kernels().mr;
}

// Rows of dW a tile. Large ones, because each packs its share of dy; but at least kTiles of them while they
// keep kLeastRows rows, so that a few threads have an equal share.
size_t rows_per_tile(const Products& products, size_t n) {
  constexpr size_t kTiles = 6, kLeastRows = 48;
  const size_t unit = row_unit(products);
  const size_t wanted = std::max(kLeastRows, (n + kTiles - 1) / kTiles);
  return std::min(products.tile_rows(), (wanted + unit - 1) / unit * unit);
}

struct GradientPart {
  Range rows, cols;
};

// What of dW[n,k] a tile is: a band of rows. In bf16 each tile packs what it reads of x as well, so that as
// few bands of rows as fit are cut into parts of columns instead: with as many tiles, x is packed for fewer
// of them.
GradientPart gradient_part(const Products& products, size_t n, size_t k, size_t tile) {
  const size_t unit = row_unit(products), tiles = weight_gradient_tiles(products, n);
  const auto share = [&](size_t whole, size_t parts) { return ((whole + parts - 1) / parts + unit - 1) / unit * unit; };
  size_t bands = tiles;
  if (products.precision() == Precision::bf16)
    for (bands = 1; tiles % bands != 0 || share(n, bands) > products.tile_rows(); bands++) {
    }
  const size_t rows = bands == tiles ? rows_per_tile(products, n) : share(n, bands);
  const size_t cols = bands == tiles ? k : share(k, tiles / bands);
  const auto part = [](size_t whole, size_t size, size_t index) {
    const size_t first = std::min(whole, index * size);
    return Range{first, std::min(size, whole - first)};
  };
  return {part(n, rows, tile % bands), part(k, cols, tile / bands)};
}

}  // namespace

PackedWeights::PackedWeights(const Products& products, size_t n, size_t k, bool input_gradient)
    : n_(n),
      k_(k),
      pieces_forward_(piece_count(products, n)),
      pieces_backward_(input_gradient ? piece_count(products, k) : 0),
      forward_(1, products.packed_bytes(k, n)),
      backward_(1, input_gradient ? products.packed_bytes(n, k) : 0) {}

void PackedWeights::pack(const Products& products, ConstMatrixView<float> w, size_t piece) {
  check_argument(w.rows() == n_ && w.cols() == k_ && piece < pieces(), "PackedWeights::pack",
                 "weights of the shape that the object was made for, and a piece below pieces()");
  const bool is_forward = piece < pieces_forward_;
  const size_t first = (is_forward ? piece : piece - pieces_forward_) * kPanelsPerPiece;
  const size_t count = std::min(kPanelsPerPiece, products.panels(is_forward ? n_ : k_) - first);
  if (is_forward)
    products.pack(w, Products::Form::transposed, forward_.span(), first, count);
  else
    products.pack(w, Products::Form::as_is, backward_.span(), first, count);
}

void PackedWeights::pack_all(const Compute& compute, ConstMatrixView<float> w) {
  compute.pool.for_tiles(pieces(), [&](size_t piece, size_t) { pack(compute.products, w, piece); });
}

void linear_forward(const Products& products, ConstMatrixView<float> x, const PackedWeights& w, MatrixView<float> y,
                    std::span<std::byte> scratch, std::span<const float> bias) {
  check_argument(
      x.rows() == y.rows() && x.cols() == w.cols() && y.cols() == w.rows() && (bias.empty() || bias.size() == w.rows()),
      "linear_forward", "x [m, k], y [m, n], bias [n] or empty for weights [n, k]");
  products.multiply(x, w.forward(), y, false, scratch);
  if (!bias.empty()) products.kernels().add_bias(y.rows(), y.cols(), bias.data(), y.data(), y.stride());
}

void linear_forward_add(const Products& products, ConstMatrixView<float> x, const PackedWeights& w, MatrixView<float> y,
                        std::span<std::byte> scratch) {
  check_argument(x.rows() == y.rows() && x.cols() == w.cols() && y.cols() == w.rows(), "linear_forward_add",
                 "x [m, k], y [m, n] for weights [n, k]");
  products.multiply(x, w.forward(), y, true, scratch);
}

void linear_backward(const Products& products, ConstMatrixView<float> dy, const PackedWeights& w, MatrixView<float> dx,
                     bool accumulate, std::span<std::byte> scratch) {
  check_argument(dy.rows() == dx.rows() && dy.cols() == w.rows() && dx.cols() == w.cols(), "linear_backward",
                 "dy [m, n], dx [m, k] for weights [n, k]");
  check_argument(!w.backward().empty() || w.rows() * w.cols() == 0, "linear_backward",
                 "weights that were packed for the gradient of the input");
  products.multiply(dy, w.backward(), dx, accumulate, scratch);
}

size_t weight_gradient_tiles(const Products& products, size_t n) {
  const size_t rows = rows_per_tile(products, n);
  return (n + rows - 1) / rows;
}

void weight_gradient_tile(const Products& products, ConstMatrixView<float> dy, ConstMatrixView<float> x,
                          MatrixView<float> dw, size_t tile, std::span<std::byte> scratch) {
  check_argument(dy.rows() == x.rows() && dw.rows() == dy.cols() && dw.cols() == x.cols() &&
                     tile < weight_gradient_tiles(products, dw.rows()),
                 "weight_gradient_tile", "dy [m, n], x [m, k], dw [n, k], and one of its tiles");
  const auto [rows, cols] = gradient_part(products, dw.rows(), dw.cols(), tile);
  products.multiply_tn(dy.col_range(rows.first, rows.count), x.col_range(cols.first, cols.count),
                       dw.row_range(rows.first, rows.count).col_range(cols.first, cols.count), false, scratch);
}

Range weight_gradient_rows(const Products& products, size_t n, size_t band) {
  const size_t rows = rows_per_tile(products, n), first = band * rows;
  return {first, std::min(rows, n - first)};
}

size_t gradient_cut(const Products& products) { return products.precision() == Precision::bf16 ? kBf16Block : 1; }

void weight_gradient_band(const Products& products, ConstMatrixView<float> dy, ConstMatrixView<float> x,
                          MatrixView<float> dw, size_t band, bool accumulate, std::span<std::byte> scratch) {
  check_argument(dy.rows() == x.rows() && dw.rows() == dy.cols() && dw.cols() == x.cols() &&
                     band < weight_gradient_tiles(products, dw.rows()),
                 "weight_gradient_band", "dy [m, n], x [m, k], dw [n, k], and one of its bands");
  const auto [first, rows] = weight_gradient_rows(products, dw.rows(), band);
  products.multiply_tn(dy.col_range(first, rows), x, dw.row_range(first, rows), accumulate, scratch);
}

void weight_gradient(const Products& products, ConstMatrixView<float> dy, ConstMatrixView<float> x,
                     MatrixView<float> dw, bool accumulate, std::span<std::byte> scratch) {
  check_argument(dy.rows() == x.rows() && dw.rows() == dy.cols() && dw.cols() == x.cols(), "weight_gradient",
                 "dy [m, n], x [m, k], dw [n, k]");
  const size_t unit = row_unit(products), n = dw.rows();
  const size_t tiles = (n + products.tile_rows() - 1) / products.tile_rows();
  const size_t step = ((n + tiles - 1) / tiles + unit - 1) / unit * unit;
  for (size_t i = 0; i < n; i += step) {
    const size_t rows = std::min(step, n - i);
    products.multiply_tn(dy.col_range(i, rows), x, dw.row_range(i, rows), accumulate, scratch);
  }
}

}  // namespace glint
