// What layers compute with, and how a batch is cut. Cuts depend on shapes alone: results do not depend on the
// number of threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include "glint/base/threads.h"
#include "glint/kernels/gemm.h"

namespace glint {

struct Compute {
  const Products& products;
  ThreadPool& pool;
  Scratch& scratch;  // one per worker
  const Kernels& kernels() const { return products.kernels(); }
};

// Rows that go through all layers together, so that their activations stay in L2.
inline size_t chunk_rows(size_t batch) { return std::clamp<size_t>((batch / 4 + 15) / 16 * 16, 64, 256); }
inline size_t chunk_count(size_t batch) { return (batch + chunk_rows(batch) - 1) / chunk_rows(batch); }

struct Range {
  size_t first, count;
};
inline Range chunk_range(size_t batch, size_t chunk) {
  const size_t rows = chunk_rows(batch), first = chunk * rows;
  return {first, std::min(rows, batch - first)};
}

}  // namespace glint
