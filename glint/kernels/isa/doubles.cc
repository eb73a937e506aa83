// Products in double of a few vectors with many rows, which are floats or doubles: what the analysis of
// weights spends its time on. Rows are read once and widened in registers.
//
// The columns go in stretches whose part of the vectors stays in L1, the rows in groups that keep the sums in
// registers. Each sum has one chain of its own, whichever rows and vectors go beside it.
#include "glint/kernels/isa/vec.h"

#if defined(GLINT_ISA_v4) || defined(GLINT_ISA_v3)
#include <immintrin.h>
#endif

namespace glint::GLINT_ISA {
namespace {

constexpr size_t kHalf = kLanes / 2;  // doubles of a vector
#if defined(GLINT_ISA_v4)
constexpr size_t kTogether = 4;  // vectors: 4 x 4 sums of 32 registers
#else
constexpr size_t kTogether = 2;
#endif
constexpr size_t kDotSide = 4;    // rows side by side
constexpr size_t kAcross = 4;     // vectors of columns side by side when rows are added
constexpr size_t kStretch = 512;  // columns
constexpr size_t kBundle = 16;    // rows that are added before the next stretch of columns

typedef double Doubles __attribute__((vector_size(kHalf * sizeof(double))));
typedef double LooseDoubles __attribute__((vector_size(kHalf * sizeof(double)), aligned(alignof(double))));

GLINT_INLINE Doubles get_doubles(const double* p) { return *reinterpret_cast<const LooseDoubles*>(p); }
GLINT_INLINE void put_doubles(double* p, Doubles v) { *reinterpret_cast<LooseDoubles*>(p) = v; }
GLINT_INLINE Doubles get_doubles(const float* p) {
#if defined(GLINT_ISA_v4)
  return (Doubles)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
#elif defined(GLINT_ISA_v3)
  return (Doubles)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
  return Doubles{p[0], p[1]};
#endif
}

GLINT_INLINE double sum_of(Doubles v) {
  double part[kHalf];
  put_doubles(part, v);
#pragma GCC unroll 8
  for (size_t step = kHalf / 2; step > 0; step /= 2)
    for (size_t i = 0; i < step; i++) part[i] += part[i + step];
  return part[0];
}

template <class T, size_t rows, size_t vectors>
GLINT_INLINE void dots_tile(size_t k, const T* w, size_t w_row, const double* x, size_t x_row, double* out,
                            size_t out_row) {
  Doubles acc[rows][vectors];
#pragma GCC unroll 4
  for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (size_t i = 0; i < vectors; i++) acc[r][i] = Doubles{};
  size_t j = 0;
  for (; j + kHalf <= k; j += kHalf) {
    Doubles row[rows];
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++) row[r] = get_doubles(w + r * w_row + j);
#pragma GCC unroll 4
    for (size_t i = 0; i < vectors; i++) {
      const Doubles v = get_doubles(x + i * x_row + j);
#pragma GCC unroll 4
      for (size_t r = 0; r < rows; r++) acc[r][i] += row[r] * v;
    }
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (size_t i = 0; i < vectors; i++) {
      double sum = sum_of(acc[r][i]);
      for (size_t t = j; t < k; t++) sum += static_cast<double>(w[r * w_row + t]) * x[i * x_row + t];
      out[i * out_row + r] += sum;
    }
}

template <class T, size_t vectors>
GLINT_INLINE void dots_of(const DoubleRows<T>& g, size_t first, size_t k, const double* x, size_t x_row, double* out,
                          size_t out_row) {
  const T* w = g.w + first;
  size_t r = 0;
  for (; r + kDotSide <= g.n; r += kDotSide)
    dots_tile<T, kDotSide, vectors>(k, w + r * g.w_row, g.w_row, x, x_row, out + r, out_row);
  for (; r < g.n; r++) dots_tile<T, 1, vectors>(k, w + r * g.w_row, g.w_row, x, x_row, out + r, out_row);
}

template <class T>
void dots(const DoubleRows<T>& g, const double* x, size_t x_row, double* out, size_t out_row) {
  for (size_t i = 0; i < g.vectors; i++)
    for (size_t r = 0; r < g.n; r++) out[i * out_row + r] = 0;
  for (size_t first = 0; first < g.k; first += kStretch) {
    const size_t k = g.k - first < kStretch ? g.k - first : kStretch;
    size_t i = 0;
    for (; i + kTogether <= g.vectors; i += kTogether)
      dots_of<T, kTogether>(g, first, k, x + i * x_row + first, x_row, out + i * out_row, out_row);
    for (; i < g.vectors; i++) dots_of<T, 1>(g, first, k, x + i * x_row + first, x_row, out + i * out_row, out_row);
  }
}

template <class T, size_t across, size_t vectors>
GLINT_INLINE void add_tile(size_t n, const T* w, size_t w_row, const double* c, size_t c_row, double* y, size_t y_row) {
  Doubles acc[vectors][across];
#pragma GCC unroll 4
  for (size_t i = 0; i < vectors; i++)
#pragma GCC unroll 4
    for (size_t a = 0; a < across; a++) acc[i][a] = get_doubles(y + i * y_row + a * kHalf);
  for (size_t r = 0; r < n; r++) {
    Doubles row[across];
#pragma GCC unroll 4
    for (size_t a = 0; a < across; a++) row[a] = get_doubles(w + r * w_row + a * kHalf);
#pragma GCC unroll 4
    for (size_t i = 0; i < vectors; i++) {
      const double factor = c[i * c_row + r];
#pragma GCC unroll 4
      for (size_t a = 0; a < across; a++) acc[i][a] += row[a] * factor;
    }
  }
#pragma GCC unroll 4
  for (size_t i = 0; i < vectors; i++)
#pragma GCC unroll 4
    for (size_t a = 0; a < across; a++) put_doubles(y + i * y_row + a * kHalf, acc[i][a]);
}

template <class T, size_t vectors>
GLINT_INLINE void add_of(size_t n, size_t k, const T* w, size_t w_row, const double* c, size_t c_row, double* y,
                         size_t y_row) {
  size_t j = 0;
  for (; j + kAcross * kHalf <= k; j += kAcross * kHalf)
    add_tile<T, kAcross, vectors>(n, w + j, w_row, c, c_row, y + j, y_row);
  for (; j + kHalf <= k; j += kHalf) add_tile<T, 1, vectors>(n, w + j, w_row, c, c_row, y + j, y_row);
  for (; j < k; j++)
    for (size_t i = 0; i < vectors; i++) {
      double sum = y[i * y_row + j];
      for (size_t r = 0; r < n; r++) sum += static_cast<double>(w[r * w_row + j]) * c[i * c_row + r];
      y[i * y_row + j] = sum;
    }
}

template <class T>
void add(const DoubleRows<T>& g, const double* c, size_t c_row, double* y, size_t y_row) {
  for (size_t first = 0; first < g.k; first += kStretch) {
    const size_t k = g.k - first < kStretch ? g.k - first : kStretch;
    for (size_t r = 0; r < g.n; r += kBundle) {
      const size_t n = g.n - r < kBundle ? g.n - r : kBundle;
      const T* w = g.w + r * g.w_row + first;
      size_t i = 0;
      for (; i + kTogether <= g.vectors; i += kTogether)
        add_of<T, kTogether>(n, k, w, g.w_row, c + i * c_row + r, c_row, y + i * y_row + first, y_row);
      for (; i < g.vectors; i++) add_of<T, 1>(n, k, w, g.w_row, c + i * c_row + r, c_row, y + i * y_row + first, y_row);
    }
  }
}

}  // namespace

void fill_doubles(Kernels& table) {
  table.double_dots_f32 = &dots<float>;
  table.double_dots_f64 = &dots<double>;
  table.double_add_f32 = &add<float>;
  table.double_add_f64 = &add<double>;
}

}  // namespace glint::GLINT_ISA
