// Which samples a training step sees: one shuffle per epoch, cut into batches of equal size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glint {

// A permutation of 0..n-1 that depends on (seed, epoch, n) alone, so that a run resumes at any epoch.
std::vector<uint32_t> epoch_order(uint64_t seed, uint32_t epoch, size_t n);

struct BatchRange {
  size_t first = 0, count = 0;
};

enum class LastBatch { drop, keep };  // what to do with a last batch that is not full

// Error (usage) when there is not one batch to give: batch_size 0, or above n with `drop`.
size_t batch_count(size_t n, size_t batch_size, LastBatch last);
BatchRange batch_range(size_t n, size_t batch_size, size_t index);

// The samples of batch `index` of an epoch.
std::span<const uint32_t> batch_of(std::span<const uint32_t> order, size_t batch_size, size_t index);

}  // namespace glint
