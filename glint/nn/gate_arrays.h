// Gates over arrays of any size, on all threads: for callers who have arrays and no layer. Short arrays are
// done by the calling thread. Elements do not depend on each other, nor on how an array is cut.
#pragma once

#include <span>

#include "glint/base/matrix.h"
#include "glint/base/threads.h"
#include "glint/kernels/kernels.h"

namespace glint {

// From here on an array is worth more than one thread.
inline constexpr size_t kLongArray = size_t{1} << 16;

// Who does long ones: the calling thread where there is no pool, or at most so many threads of the pool.
struct Workers {
  Workers(ThreadPool* p = nullptr, size_t m = 0) : pool(p), most(m) {}
  ThreadPool* pool;
  size_t most;  // 0: all
};

// value = gate(h) and slope = gate'(h), element by element; one of them may be empty.
void gate_array(const Kernels& kernels, const Workers& workers, const Gate& gate, std::span<const float> h,
                std::span<float> value, std::span<float> slope);
// The same in double: the reference, straight from the formula.
void gate_array(const Workers& workers, const Gate& gate, std::span<const double> h, std::span<double> value,
                std::span<double> slope);

// dh = dy gate'(h), all of one length; dh lies apart from the others.
void gate_array_backward(const Kernels& kernels, const Workers& workers, const Gate& gate, std::span<const float> h,
                         std::span<const float> dy, std::span<float> dh);
void gate_array_backward(const Workers& workers, const Gate& gate, std::span<const double> h,
                         std::span<const double> dy, std::span<double> dh);

// y = gate(l) r, all of one shape.
void glu_array(const Kernels& kernels, const Workers& workers, const Gate& gate, ConstMatrixView<float> l,
               ConstMatrixView<float> r, MatrixView<float> y);
// dl = dy r gate'(l), dr = dy gate(l), all of one shape.
void glu_array_backward(const Kernels& kernels, const Workers& workers, const Gate& gate, ConstMatrixView<float> l,
                        ConstMatrixView<float> r, ConstMatrixView<float> dy, MatrixView<float> dl,
                        MatrixView<float> dr);
// In double.
void glu_array(const Workers& workers, const Gate& gate, ConstMatrixView<double> l, ConstMatrixView<double> r,
               MatrixView<double> y);
void glu_array_backward(const Workers& workers, const Gate& gate, ConstMatrixView<double> l, ConstMatrixView<double> r,
                        ConstMatrixView<double> dy, MatrixView<double> dl, MatrixView<double> dr);

}  // namespace glint
