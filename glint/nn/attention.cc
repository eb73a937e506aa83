#include "glint/nn/attention.h"

#include <cmath>

#include "glint/base/error.h"

namespace glint {
namespace {

// The left operand of a product, A or A^T in place.
struct Left {
  const float* data;
  size_t row, k;  // floats from one row of A to the next, from one column to the next
};
Left rows_of(ConstMatrixView<float> m) { return {m.data(), m.stride(), 1}; }
Left columns_of(ConstMatrixView<float> m) { return {m.data(), 1, m.stride()}; }

// C[m,n] (+)= A B.
template <class Right>
void product(const Kernels& kernels, Left a, Right b, size_t m, size_t n, size_t k, MatrixView<float> c,
             bool accumulate) {
  kernels.gemm({.m = m,
                .n = n,
                .k = k,
                .a = a.data,
                .a_tile = kernels.mr * a.row,
                .a_row = a.row,
                .a_k = a.k,
                .b = b.data,
                .b_panel = b.panel,
                .b_k = b.k,
                .c = c.data(),
                .c_row = c.stride(),
                .accumulate = accumulate});
}

}  // namespace

struct Attention::Right {
  const float* data;
  size_t panel, k;  // floats from one panel to the next, from one row of a panel to the next
};

// A strip is a few register tiles high: enough rows to use a panel of keys again while it is in L1, few
// enough that little is computed above the diagonal.
Attention::Attention(const Kernels& kernels, size_t heads, size_t kv_heads, size_t head_dim, size_t context,
                     float scale, bool training)
    : kernels_(&kernels),
      heads_(heads),
      kv_heads_(kv_heads),
      head_dim_(head_dim),
      context_(context),
      strip_rows_(kernels.mr * std::max<size_t>(2, 24 / kernels.mr)),
      scale_(scale),
      training_(training) {
  check_argument(kv_heads > 0 && heads % kv_heads == 0, "Attention", "heads a multiple of kv_heads");
}

size_t Attention::columns(size_t tokens) const { return (tokens + kernels_->nr - 1) / kernels_->nr * kernels_->nr; }

size_t Attention::scratch_floats() const {
  const size_t strip = strip_rows_ * padded_stride(columns(context_));
  const size_t packed = columns(context_) * head_dim_;
  const size_t panels = (context_ + (training_ ? strip_rows_ : 0)) * columns(head_dim_);
  return (training_ ? 2 : 1) * (strip + packed) + 2 * padded_stride(strip_rows_) + panels;
}

// In place when its columns are whole panels, packed otherwise.
Attention::Right Attention::right(ConstMatrixView<float> m, float* buffer) const {
  const size_t nr = kernels_->nr;
  if (m.cols() % nr == 0) return {m.data(), nr, m.stride()};
  kernels_->pack_panels(m.data(), m.rows(), m.cols(), m.stride(), buffer);
  return {buffer, m.rows() * nr, nr};
}

void Attention::pack_transposed(ConstMatrixView<float> m, float* out) const {
  const size_t nr = kernels_->nr;
  for (size_t j = 0; j < m.rows(); j += nr, out += nr * m.cols())
    kernels_->pack_panel(m.row_ptr(j), m.cols(), std::min(nr, m.rows() - j), m.stride(), out);
}

void Attention::forward(ConstMatrixView<float> qkv, MatrixView<float> y, MatrixView<float> lse,
                        std::span<float> scratch) const {
  const Kernels& kn = *kernels_;
  const size_t t = qkv.rows(), seen_most = columns(t);
  check_argument(t <= context_ && qkv.cols() == width() && y.rows() == t && y.cols() == heads_ * head_dim_ &&
                     lse.rows() >= heads_ && lse.cols() >= t && scratch.size() >= scratch_floats(),
                 "Attention::forward",
                 "qkv, y and lse [heads, context] with t up to the context, and scratch_floats()");
  float* packed_k = scratch.data();
  float* inverse = packed_k + columns(context_) * head_dim_;
  const MatrixView<float> strip(inverse + padded_stride(strip_rows_), strip_rows_, seen_most, padded_stride(seen_most));
  float* panels = strip.data() + strip_rows_ * strip.stride();
  const Right keys{packed_k, kn.nr * head_dim_, kn.nr};
  Right values{};
  for (size_t h = 0; h < heads_; h++) {
    const ConstMatrixView<float> q = qkv.col_range(h * head_dim_, head_dim_);
    if (first_of_group(h)) {
      pack_transposed(qkv.col_range(key_column(h), head_dim_), packed_k);
      values = right(qkv.col_range(value_column(h), head_dim_), panels);
    }
    for (size_t first = 0; first < t; first += strip_rows_) {
      const size_t rows = std::min(strip_rows_, t - first), seen = first + rows;
      const MatrixView<float> out = y.row_range(first, rows).col_range(h * head_dim_, head_dim_);
      product(kn, rows_of(q.row_range(first, rows)), keys, rows, columns(seen), head_dim_, strip, false);
      kn.causal_softmax(rows, first + 1, columns(seen), strip.data(), strip.stride(), lse.row_ptr(h) + first, inverse);
      product(kn, rows_of(strip), values, rows, head_dim_, seen, out, false);
      for (size_t i = 0; i < rows; i++) inverse[i] *= scale_;
      kn.scale_rows(rows, head_dim_, inverse, out.data(), out.stride(), out.data(), out.stride());
    }
  }
}

// With lse - log s instead of lse the softmax comes out as s p. Then dv is one product, and
//   ds = s p (dy . v - dy . y / s)
void Attention::backward(ConstMatrixView<float> qkv, ConstMatrixView<float> y, ConstMatrixView<float> lse,
                         ConstMatrixView<float> dy, MatrixView<float> d_qkv, std::span<float> scratch) const {
  const Kernels& kn = *kernels_;
  const size_t t = qkv.rows(), seen_most = columns(t);
  check_argument(training_, "Attention::backward", "an object that was made for training");
  const size_t d = heads_ * head_dim_;
  check_argument(t <= context_ && qkv.cols() == width() && y.rows() == t && y.cols() == d && dy.rows() == t &&
                     dy.cols() == d && d_qkv.rows() == t && d_qkv.cols() == width() && lse.rows() >= heads_ &&
                     lse.cols() >= t && scratch.size() >= scratch_floats(),
                 "Attention::backward", "shapes as in the forward pass");
  float* packed_k = scratch.data();
  float* packed_v = packed_k + columns(context_) * head_dim_;
  float* dots = packed_v + columns(context_) * head_dim_;
  float* shift = dots + padded_stride(strip_rows_);
  const MatrixView<float> p(shift + padded_stride(strip_rows_), strip_rows_, seen_most, padded_stride(seen_most));
  const MatrixView<float> ds(p.data() + strip_rows_ * p.stride(), strip_rows_, seen_most, p.stride());
  float* panels = ds.data() + strip_rows_ * ds.stride();
  float* strip_panels = panels + context_ * columns(head_dim_);
  const Right keys{packed_k, kn.nr * head_dim_, kn.nr}, values{packed_v, kn.nr * head_dim_, kn.nr};
  const float log_scale = std::log(scale_);
  Right key_rows{};
  for (size_t h = 0; h < heads_; h++) {
    const size_t at = h * head_dim_;
    const ConstMatrixView<float> q = qkv.col_range(at, head_dim_);
    const MatrixView<float> dq = d_qkv.col_range(at, head_dim_), dk = d_qkv.col_range(key_column(h), head_dim_),
                            dv = d_qkv.col_range(value_column(h), head_dim_);
    if (first_of_group(h)) {
      const ConstMatrixView<float> k = qkv.col_range(key_column(h), head_dim_);
      pack_transposed(k, packed_k);
      pack_transposed(qkv.col_range(value_column(h), head_dim_), packed_v);
      key_rows = right(k, panels);
    }
    // From the last strip, which sees every key and so gives all of dk and dv their first value.
    const size_t strips = (t + strip_rows_ - 1) / strip_rows_;
    for (size_t strip = strips; strip-- > 0;) {
      const size_t first = strip * strip_rows_, rows = std::min(strip_rows_, t - first), seen = first + rows;
      const bool add = strip + 1 < strips || !first_of_group(h);
      const ConstMatrixView<float> q_rows = q.row_range(first, rows),
                                   out = y.row_range(first, rows).col_range(at, head_dim_),
                                   d_out = dy.row_range(first, rows).col_range(at, head_dim_);
      product(kn, rows_of(q_rows), keys, rows, columns(seen), head_dim_, p, false);
      product(kn, rows_of(d_out), values, rows, columns(seen), head_dim_, ds, false);
      kn.row_dots(rows, head_dim_, out.data(), out.stride(), d_out.data(), d_out.stride(), dots);
      for (size_t i = 0; i < rows; i++) {
        dots[i] /= scale_;
        shift[i] = lse(h, first + i) - log_scale;
      }
      kn.causal_softmax_backward(rows, first + 1, columns(seen), shift, dots, p.data(), ds.data(), p.stride());
      product(kn, rows_of(ds), key_rows, rows, head_dim_, seen, dq.row_range(first, rows), false);
      product(kn, columns_of(ds), right(q_rows, strip_panels), seen, head_dim_, rows, dk.row_range(0, seen), add);
      product(kn, columns_of(p), right(d_out, strip_panels), seen, head_dim_, rows, dv.row_range(0, seen), add);
    }
  }
}

}  // namespace glint
