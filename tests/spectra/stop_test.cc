// Calls that take long can be cancelled: inside a StopScope each of them asks again and again, ends with
// Error (interrupted) when told to, and gives the same result afterwards.
#include <functional>

#include "fixtures.h"
#include "glint/base/error.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/lanczos.h"
#include "glint/spectra/measures.h"

namespace glint {
namespace {

using namespace fixtures;

struct ReadingInput {
  const LinearAlgebra linalg;
  const Layer data = random_layer(32, 24, false, GateKind::Silu);
  const Matrix<double> weights = random_matrix(5, 32, 3);
  const Matrix<float> x = random_matrix<float>(6000, 24, 31);
};

// How often `call` asks, and that it can be stopped at its first question, its last one, and between them.
size_t questions(ThreadPool& pool, const std::function<std::vector<double>()>& call) {
  const std::vector<double> want = call();
  size_t asked = 0, limit = ~size_t{0};
  const StopScope scope(pool, [&] { return ++asked > limit; });
  EXPECT_EQ(call(), want);
  const size_t all = asked;
  // With several threads the caller's share of the tiles varies: only the first question is sure to come.
  for (const size_t stop_after : {size_t{0}, pool.size() == 1 ? all / 2 : 0, pool.size() == 1 ? all - 1 : 0}) {
    asked = 0, limit = stop_after;
    try {
      call();
      ADD_FAILURE() << "not stopped at question " << stop_after;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::interrupted);
    }
    EXPECT_EQ(asked, stop_after + 1);
  }
  limit = ~size_t{0};
  EXPECT_EQ(call(), want);
  return all;
}

std::vector<double> numbers(const GateTerms& line) {
  std::vector<double> all = line.gain;
  all.insert(all.end(), line.shift.begin(), line.shift.end());
  return all;
}

class Stop : public ::testing::TestWithParam<size_t> {
 protected:
  // The least number of questions; with one thread every tile is one.
  void expect_asks(size_t least, const std::function<std::vector<double>()>& call) {
    const size_t asked = questions(pool_, call);
    EXPECT_GE(asked, pool_.size() == 1 ? least : 1);
  }
  const ReadingInput r_;
  ThreadPool pool_{GetParam()};
  const size_t tiles_ = 24;  // of 6000 rows
};
INSTANTIATE_TEST_SUITE_P(Threads, Stop, ::testing::Values(1, 2));

TEST_P(Stop, Calibration) {
  const GluLayerView layer = r_.data.view();
  expect_asks(tiles_, [&] { return numbers(calibrated_form({r_.linalg, pool_, layer}, r_.x, Calibration::affine)); });
  expect_asks(2 * tiles_, [&] { return numbers(joint_form({r_.linalg, pool_, layer}, r_.weights, r_.x)); });
}

TEST_P(Stop, Eigenvalues) {
  expect_asks(7, [&] {
    std::vector<double> values;
    for (const Spectrum& s : eigh_many(r_.linalg, pool_, 7, 12, [](size_t i, size_t, MatrixView<double> out) {
           for (size_t a = 0; a < 12; a++)
             for (size_t b = 0; b < 12; b++) out(a, b) = static_cast<double>((a + 1) * (b + 1) + i * (a == b));
         }))
      values.insert(values.end(), s.values.begin(), s.values.end());
    return values;
  });
  expect_asks(10, [&] {
    const std::vector<double> q(32, 1.0);
    return top_interaction({r_.linalg, pool_, r_.data.view()}, q, 2).values;
  });
}

TEST_P(Stop, FormsAndTruncation) {
  const GluLayerView layer = r_.data.view();
  std::vector<UnitForm> forms;
  expect_asks(r_.weights.rows(), [&] {
    forms = unit_forms({r_.linalg, pool_, layer}, weights_form(layer), r_.weights);
    return forms.back().spectrum.values;
  });
  const std::vector<uint32_t> labels(r_.x.rows(), 1);
  expect_asks(tiles_, [&] { return truncation_curve(r_.linalg, pool_, forms, {r_.x, labels}).accuracy; });
}

}  // namespace
}  // namespace glint
