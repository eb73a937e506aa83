// A vector of the level's width: for the register tile of the matrix product, and for what compilers do not
// vectorise by themselves.
#pragma once

#include "glint/kernels/isa/level.h"

namespace glint::GLINT_ISA {
namespace {

typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));
typedef float LooseVec __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float))));

GLINT_INLINE Vec load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
GLINT_INLINE void store(float* p, Vec v) { *reinterpret_cast<LooseVec*>(p) = v; }

}  // namespace
}  // namespace glint::GLINT_ISA
