#include "glint/data/batches.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

#include "glint/base/error.h"
#include "glint/base/rng.h"

namespace glint {

std::vector<uint32_t> epoch_order(uint64_t seed, uint32_t epoch, size_t n) {
  if (n > std::numeric_limits<uint32_t>::max())
    throw Error({.code = ErrorCode::usage,
                 .what = "a set of " + std::to_string(n) + " samples is too large",
                 .expected = "below 2^32 samples"});
  return Rng(seed, Stream::shuffle, epoch).permutation(static_cast<uint32_t>(n));
}

size_t batch_count(size_t n, size_t batch_size, LastBatch last) {
  const size_t whole = batch_size == 0 ? 0 : n / batch_size;
  const bool partial = batch_size != 0 && n % batch_size != 0 && last == LastBatch::keep;
  if (whole + partial == 0)
    throw Error(
        {.code = ErrorCode::usage,
         .what = "no batch of " + std::to_string(batch_size) + " in " + std::to_string(n) + " samples",
         .where = "batch",
         .expected = "1 to " + std::to_string(n)});
  return whole + partial;
}

BatchRange batch_range(size_t n, size_t batch_size, size_t index) {
  assert(batch_size > 0 && index <= (n - 1) / batch_size);
  const size_t first = index * batch_size;
  return {first, std::min(batch_size, n - first)};
}

std::span<const uint32_t> batch_of(std::span<const uint32_t> order, size_t batch_size, size_t index) {
  const BatchRange range = batch_range(order.size(), batch_size, index);
  return order.subspan(range.first, range.count);
}

}  // namespace glint
