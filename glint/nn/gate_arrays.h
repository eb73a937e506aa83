// Gates over arrays of any size, on all threads: for callers who have arrays and no layer. Short arrays are
// done by the calling thread; `pool` may be null, then long ones are too. Cuts depend on sizes alone.
#pragma once

#include <span>

#include "glint/base/matrix.h"
#include "glint/base/threads.h"
#include "glint/kernels/kernels.h"

namespace glint {

// From here on an array is worth more than one thread.
inline constexpr size_t kLongArray = size_t{1} << 16;

// value = gate(h) and slope = gate'(h), element by element; one of them may be empty.
void gate_array(const Kernels& kernels, ThreadPool* pool, const Gate& gate, std::span<const float> h,
                std::span<float> value, std::span<float> slope);
// The same in double: the reference, straight from the formula.
void gate_array(ThreadPool* pool, const Gate& gate, std::span<const double> h, std::span<double> value,
                std::span<double> slope);

// y = gate(l) r, all of one shape.
void glu_array(const Kernels& kernels, ThreadPool* pool, const Gate& gate, ConstMatrixView<float> l,
               ConstMatrixView<float> r, MatrixView<float> y);
// dl = dy r gate'(l), dr = dy gate(l), all of one shape.
void glu_array_backward(const Kernels& kernels, ThreadPool* pool, const Gate& gate, ConstMatrixView<float> l,
                        ConstMatrixView<float> r, ConstMatrixView<float> dy, MatrixView<float> dl,
                        MatrixView<float> dr);
// In double.
void glu_array(ThreadPool* pool, const Gate& gate, ConstMatrixView<double> l, ConstMatrixView<double> r,
               MatrixView<double> y);
void glu_array_backward(ThreadPool* pool, const Gate& gate, ConstMatrixView<double> l,
                        ConstMatrixView<double> r, ConstMatrixView<double> dy, MatrixView<double> dl,
                        MatrixView<double> dr);

}  // namespace glint
