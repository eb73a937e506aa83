// Every operation of the table, on every target this machine has, at 1, 2, 3 and 7 threads: within the bound
// of the reference, byte-identical between thread counts, nothing written outside of the outputs.
#include "tests/kernels/ops.h"

#include <iostream>
#include <memory>

namespace glint::model_testing {
namespace {

std::vector<Op> op_table() {
  std::vector<Op> all;
  for (const auto& part : {gate_ops(), row_ops(), update_ops(), product_ops(), text_ops(), stored_ops(), double_ops()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

void expect_within(const Output& got, const Expected& want) {
  ASSERT_EQ(got.values.rows(), want.value.rows()) << got.name;
  ASSERT_EQ(got.values.cols(), want.value.cols()) << got.name;
  for (size_t i = 0; i < got.values.size(); i++) {
    const double g = got.values.span()[i], w = want.value.span()[i], bound = want.bound.span()[i];
    ASSERT_LE(std::fabs(g - w), bound) << got.name << " at row " << i / got.values.cols() << ", column "
                                       << i % got.values.cols() << ": " << g << ", should be " << w;
  }
}

class OpTest : public ::testing::TestWithParam<Op> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
    for (const size_t threads : kThreadCounts) pools_.push_back(std::make_unique<ThreadPool>(threads));
  }
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  Scratch scratch_{7};
};

TEST_P(OpTest, MatchesTheReferenceAtAnyThreadCount) {
  const Op& op = GetParam();
  ASSERT_FALSE(op.targets.empty());
  for (const Shape& shape : op.shapes) {
    SCOPED_TRACE(op.name + " rows " + std::to_string(shape.rows) + " cols " + std::to_string(shape.cols) + " depth " +
                 std::to_string(shape.depth) + " pad " + std::to_string(shape.pad));
    const Case test = op.make(shape);
    for (const Target& target : op.targets) {
      SCOPED_TRACE(target.name);
      std::vector<Output> first;
      for (const auto& pool : pools_) {
        SCOPED_TRACE(std::to_string(pool->size()) + " threads");
        std::vector<Output> got = test.run(target, *pool, scratch_);
        ASSERT_EQ(got.size(), test.expected.size());
        for (const Output& out : got) ASSERT_TRUE(out.intact) << "wrote outside of " << out.name;
        if (first.empty()) {
          for (size_t i = 0; i < got.size(); i++) expect_within(got[i], test.expected[i]);
          if (HasFatalFailure()) return;
          first = std::move(got);
        } else {
          for (size_t i = 0; i < got.size(); i++)
            ASSERT_EQ(got[i].bytes, first[i].bytes) << got[i].name << " depends on the number of threads";
        }
      }
    }
  }
}

// A processor that is said to have a level must run it in every operation but the bf16 ones; the log says
// which.
TEST(Ops, RunAtEveryLevelOfThisProcessor) {
  std::vector<std::string> levels;
  for (const Target& target : every_isa()) levels.push_back(target.name);
  std::cout << describe(cpu()) << ":";
  for (const std::string& level : levels) std::cout << " " << level;
  std::cout << "\n";
  ASSERT_EQ(levels.size(), static_cast<size_t>(cpu().best) + 1);
  EXPECT_EQ(levels.back(), name(cpu().best));
  for (const Op& op : op_table()) {
    if (op.name.find("bf16") != std::string::npos) continue;
    std::vector<std::string> ran;
    for (const Target& target : op.targets) {
      ran.push_back(target.name);
      EXPECT_EQ(name(target.kernels().isa), target.name) << op.name;
    }
    EXPECT_EQ(ran, levels) << op.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpTest, ::testing::ValuesIn(op_table()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
void PrintTo(const Op& op, std::ostream* out) { *out << op.name; }
}  // namespace glint::model_testing
