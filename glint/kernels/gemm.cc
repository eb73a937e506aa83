#include "glint/kernels/gemm.h"

#include <algorithm>
#include <cassert>

#include "glint/base/error.h"
#include "glint/kernels/bf16.h"

namespace glint {
namespace {

// Depth of a block of k: a panel of B of this depth (x 16 or 32 columns) stays in L1, and k is cut evenly.
constexpr size_t kMaxDepth = 320;

size_t depth_step(size_t k) {
  const size_t blocks = (k + kMaxDepth - 1) / kMaxDepth;
  return blocks == 0 ? 1 : ((k + blocks - 1) / blocks + 7) / 8 * 8;
}

// Rows of A that stay in L2 while all panels of a block pass by.
constexpr size_t kRowBlock = 256;
// Columns of C that stay near while all of k passes by; a multiple of every panel.
constexpr size_t kColumnBlock = 512;
// A is packed into register tiles where enough columns pay for it: one stream instead of several, few pages.
// Parts of rows that lie a multiple of 2 KB (512 floats) apart fall into few sets of the caches, and a few
// columns are enough.
constexpr size_t kManyColumns = 1024, kFewColumns = 64, kBadStride = 512;

// Up to this depth A^T is read in place: its rows and a panel of B are in L1 together.
constexpr size_t kShallow = 160;

// Without rows, columns or depth there is no product; without depth C is cleared.
bool nothing_to_add(size_t k, MatrixView<float> c, bool accumulate) {
  if (k == 0 && !accumulate)
    for (size_t i = 0; i < c.rows(); i++) std::fill_n(c.row_ptr(i), c.cols(), 0.0f);
  return k == 0 || c.empty();
}

float* floats(std::span<std::byte> bytes) { return reinterpret_cast<float*>(bytes.data()); }
const float* floats(std::span<const std::byte> bytes) { return reinterpret_cast<const float*>(bytes.data()); }

Bf16Multiply bf16_args(ConstMatrixView<float> a, const void* b, size_t b_row, MatrixView<float> c, size_t k,
                       bool accumulate, std::span<std::byte> scratch) {
  return {c.rows(), c.cols(), k,          a.data(),   a.stride(),     b,
          b_row,    c.data(), c.stride(), accumulate, scratch.data(), scratch.size()};
}

}  // namespace

std::string_view name(Precision precision) { return precision == Precision::bf16 ? "bf16" : "f32"; }

Precision parse_precision(std::string_view word) {
  if (word == "f32") return Precision::f32;
  if (word == "bf16") return Precision::bf16;
  throw Error({.code = ErrorCode::usage,
               .what = "unknown precision '" + std::string(word) + "'",
               .where = "precision",
               .expected = suggest(word, {"f32", "bf16"})});
}

Products::Products(const Kernels& kernels, Bf16Unit unit) : kernels_(&kernels), bf16_(&bf16_products(unit)) {}

size_t Products::tile_rows() const { return bf16_ ? 224 : kMaxTileRows; }

size_t Products::panel_columns() const { return bf16_ ? kBf16Block : kernels_->nr; }

size_t Products::packed_bytes(size_t k, size_t n) const {
  if (bf16_) return bf16_packed_bytes(k, n);
  return panels(n) * kernels_->nr * k * sizeof(float);
}

// f32 layout: blocks of depth outermost, then panels: block at k0 * columns, panel p at p * depth * nr.
void Products::pack(ConstMatrixView<float> w, Form form, std::span<std::byte> out, size_t first_panel,
                    size_t panel_count) const {
  const bool transposed = form == Form::transposed;
  const size_t k = transposed ? w.cols() : w.rows(), n = transposed ? w.rows() : w.cols();
  assert(out.size() >= packed_bytes(k, n) && first_panel + panel_count <= panels(n));
  const size_t k_stride = transposed ? 1 : w.stride(), j_stride = transposed ? w.stride() : 1;
  if (bf16_) {
    bf16_->pack(w.data(), k, n, k_stride, j_stride, out.data(), first_panel, panel_count);
    return;
  }
  const size_t nr = kernels_->nr, columns = panels(n) * nr, step = depth_step(k);
  for (size_t k0 = 0; k0 < k; k0 += step) {
    const size_t depth = std::min(step, k - k0);
    float* to = floats(out) + k0 * columns + first_panel * depth * nr;
    const size_t first = first_panel * nr, cols = std::min(panel_count * nr, n - first);
    if (!transposed) {
      kernels_->pack_panels(w.row_ptr(k0) + first, depth, cols, w.stride(), to);
      continue;
    }
    for (size_t j = 0; j < cols; j += nr)
      kernels_->pack_panel(w.row_ptr(first + j) + k0, depth, std::min(nr, cols - j), w.stride(), to + j * depth);
  }
}

void Products::multiply(ConstMatrixView<float> a, std::span<const std::byte> b, MatrixView<float> c, bool accumulate,
                        std::span<std::byte> scratch) const {
  const size_t m = a.rows(), k = a.cols(), n = c.cols();
  assert(c.rows() == m && b.size() >= packed_bytes(k, n));
  if (nothing_to_add(k, c, accumulate)) return;
  if (bf16_) {
    bf16_->multiply(bf16_args(a, b.data(), 0, c, k, accumulate, scratch));
    return;
  }
  const size_t nr = kernels_->nr, columns = panels(n) * nr, step = depth_step(k);
  assert(scratch.size() >= kScratchBytes);
  // Packed rows of A: with many columns it pays always, with a few where the stride is bad.
  const size_t mr = kernels_->mr, fitting = kScratchBytes / sizeof(float) / k / mr * mr;
  const bool bad_stride = a.stride() % kBadStride == 0 && k > step;
  const bool pack = fitting > 0 && (n >= kManyColumns || (n >= kFewColumns && bad_stride));
  const size_t block = pack ? std::min(kRowBlock / mr * mr, fitting) : kRowBlock;
  for (size_t i = 0; i < m; i += block) {
    const size_t rows = std::min(block, m - i), padded = (rows + mr - 1) / mr * mr;
    if (pack)
      for (size_t k0 = 0; k0 < k; k0 += step)
        kernels_->pack_rows(a.row_ptr(i) + k0, std::min(step, k - k0), rows, a.stride(), floats(scratch) + k0 * padded);
    for (size_t j = 0; j < n; j += kColumnBlock) {
      for (size_t k0 = 0; k0 < k; k0 += step) {
        const size_t depth = std::min(step, k - k0);
        kernels_->gemm({.m = rows,
                        .n = std::min(kColumnBlock, n - j),
                        .k = depth,
                        .a = pack ? floats(scratch) + k0 * padded : a.row_ptr(i) + k0,
                        .a_tile = pack ? depth * mr : mr * a.stride(),
                        .a_row = pack ? 1 : a.stride(),
                        .a_k = pack ? mr : 1,
                        .b = floats(b) + k0 * columns + j * depth,
                        .b_panel = depth * nr,
                        .b_k = nr,
                        .c = c.row_ptr(i) + j,
                        .c_row = c.stride(),
                        .accumulate = accumulate || k0 > 0});
      }
    }
  }
}

void Products::multiply_tn(ConstMatrixView<float> a, ConstMatrixView<float> b, MatrixView<float> c, bool accumulate,
                           std::span<std::byte> scratch) const {
  const size_t m = c.rows(), n = c.cols(), k = a.rows();
  assert(a.cols() == m && b.cols() == n && b.rows() == k);
  assert(m <= tile_rows() && scratch.size() >= kScratchBytes);
  if (nothing_to_add(k, c, accumulate)) return;
  if (bf16_) {
    bf16_->multiply_tn(bf16_args(a, b.data(), b.stride(), c, k, accumulate, scratch));
    return;
  }
  // A is packed in tiles of mr rows unless it is shallow. Of B the whole panels are used in place where their
  // rows spread over the sets of L1 (an odd number of cache lines apart, see padded_stride); otherwise, and
  // for the last columns, panels are packed.
  const size_t mr = kernels_->mr, nr = kernels_->nr, step = depth_step(k);
  const auto spread = [](ConstMatrixView<float> x) {
    return x.stride() / kLineFloats % 2 == 1 && x.stride() % kLineFloats == 0;
  };
  const size_t in_place = spread(b) ? n / nr * nr : 0;
  const bool pack_a = k > kShallow || !spread(a);
  float* packed_a = floats(scratch);
  float* packed_b = packed_a + kMaxDepth * (kMaxTileRows + 16);
  assert((kMaxDepth * (kMaxTileRows + 16) + kMaxDepth * kColumnBlock) * sizeof(float) <= scratch.size());
  for (size_t k0 = 0; k0 < k; k0 += step) {
    const size_t depth = std::min(step, k - k0);
    if (pack_a) kernels_->pack_tiles(a.row_ptr(k0), depth, m, a.stride(), packed_a);
    GemmF32 g{.m = m,
              .n = in_place,
              .k = depth,
              .a = pack_a ? packed_a : a.row_ptr(k0),
              .a_tile = pack_a ? depth * mr : mr,
              .a_row = 1,
              .a_k = pack_a ? mr : a.stride(),
              .b = b.row_ptr(k0),
              .b_panel = nr,
              .b_k = b.stride(),
              .c = c.row_ptr(0),
              .c_row = c.stride(),
              .accumulate = accumulate || k0 > 0};
    if (in_place > 0) kernels_->gemm(g);
    for (size_t j = in_place; j < n; j += kColumnBlock) {
      g.n = std::min(kColumnBlock, n - j);
      kernels_->pack_panels(b.row_ptr(k0) + j, depth, g.n, b.stride(), packed_b);
      g.b = packed_b;
      g.b_panel = depth * nr;
      g.b_k = nr;
      g.c = c.row_ptr(0) + j;
      kernels_->gemm(g);
    }
  }
}

}  // namespace glint
