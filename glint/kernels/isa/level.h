// What the files of this folder share. They are compiled once per instruction-set level into namespace
// GLINT_ISA and define only their fill function there; all else is in unnamed namespaces, because an inline
// function compiled for AVX-512 that the linker can see might be taken for every caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "glint/kernels/kernels.h"

// Before a loop whose arrays may be the same but never overlap with an offset.
#if defined(__clang__)
#define GLINT_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define GLINT_IVDEP _Pragma("GCC ivdep")
#endif

namespace glint::GLINT_ISA {

// Lanes of a vector (vec.h), and the register tile of the matrix product.
#if defined(GLINT_ISA_v4)
inline constexpr size_t kLanes = 16;
inline constexpr size_t kMr = 14;  // 14 x 2 accumulators + 2 of B + 1 of A of 32 registers
#elif defined(GLINT_ISA_v3)
inline constexpr size_t kLanes = 8;
inline constexpr size_t kMr = 6;  // 6 x 2 + 2 + 1 of 16
#else
inline constexpr size_t kLanes = 4;
inline constexpr size_t kMr = 6;
#endif
inline constexpr size_t kNr = 2 * kLanes;

// Each file puts its kernels into the table.
void fill_gemm(Kernels& table);
void fill_glu(Kernels& table);
void fill_rows(Kernels& table);
void fill_update(Kernels& table);
void fill_text(Kernels& table);
void fill_stored(Kernels& table);
void fill_doubles(Kernels& table);

}  // namespace glint::GLINT_ISA
