#include "glint/data/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "glint/base/error.h"

namespace glint {
namespace {

TEST(Batches, OrderIsAPermutation) {
  for (const size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{1000}}) {
    std::vector<uint32_t> order = epoch_order(3, 4, n);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), n);
    for (size_t i = 0; i < n; i++) EXPECT_EQ(order[i], i);
  }
}

TEST(Batches, OrderDependsOnSeedAndEpochAlone) {
  EXPECT_EQ(epoch_order(3, 4, 500), epoch_order(3, 4, 500));
  EXPECT_NE(epoch_order(3, 4, 500), epoch_order(3, 5, 500));
  EXPECT_NE(epoch_order(3, 4, 500), epoch_order(4, 4, 500));
}

// Over many epochs every sample comes first about equally often: chi-square with 9 degrees of freedom, whose
// 99.99th percentile is 33.7.
TEST(Batches, FirstSampleIsUniform) {
  constexpr int kEpochs = 5000;
  double seen[10] = {};
  for (uint32_t epoch = 0; epoch < kEpochs; epoch++) seen[epoch_order(0, epoch, 10)[0]]++;
  double chi2 = 0;
  for (const double s : seen) chi2 += (s - kEpochs / 10.0) * (s - kEpochs / 10.0) / (kEpochs / 10.0);
  EXPECT_LT(chi2, 33.7);
}

TEST(Batches, CountAndRanges) {
  EXPECT_EQ(batch_count(10, 4, LastBatch::drop), 2u);
  EXPECT_EQ(batch_count(10, 4, LastBatch::keep), 3u);
  EXPECT_EQ(batch_count(8, 4, LastBatch::keep), 2u);
  EXPECT_EQ(batch_count(3, 4, LastBatch::keep), 1u);
  EXPECT_EQ(batch_range(10, 4, 1).first, 4u);
  EXPECT_EQ(batch_range(10, 4, 1).count, 4u);
  EXPECT_EQ(batch_range(10, 4, 2).count, 2u);
}

TEST(Batches, NoBatchIsAUsageError) {
  for (const auto& [n, size] : {std::pair<size_t, size_t>{3, 4}, {3, 0}, {0, 1}}) {
    try {
      batch_count(n, size, LastBatch::drop);
      ADD_FAILURE() << n << " / " << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
    }
  }
}

TEST(Batches, BatchesCoverTheOrder) {
  const std::vector<uint32_t> order = epoch_order(1, 0, 103);
  std::set<uint32_t> seen;
  for (size_t i = 0; i < batch_count(order.size(), 10, LastBatch::keep); i++)
    for (const uint32_t s : batch_of(order, 10, i)) EXPECT_TRUE(seen.insert(s).second);
  EXPECT_EQ(seen.size(), order.size());
}

}  // namespace
}  // namespace glint
