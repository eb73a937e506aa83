#include "glint/spectra/calibration.h"

#include <unistd.h>

#include <filesystem>

#include "fixtures.h"
#include "glint/base/error.h"
#include "glint/io/safetensors.h"
#include "glint/io/seal.h"

namespace glint {
namespace {

using namespace fixtures;

constexpr size_t kHidden = 24, kInputs = 10, kUnits = 5, kRows = 900;

struct Joint : testing::Test {
  const LinearAlgebra linalg;
  ThreadPool pool{2};
  const Matrix<float> x = random_matrix<float>(kRows, kInputs, 31);
  const Matrix<double> head = random_matrix(kUnits, kHidden, 32);

  double error(const Layer& layer, const GateTerms& line) {
    const Matrix<double> own = layer_outputs({linalg, pool, layer.view()}, head, x),
                         read = form_outputs({linalg, pool, layer.view()}, line, head, x);
    double sum = 0;
    for (size_t i = 0; i < own.size(); i++) sum += (own.data()[i] - read.data()[i]) * (own.data()[i] - read.data()[i]);
    return sum;
  }
};

TEST_F(Joint, LeavesTheIdentityExactlyAsItIs) {
  for (const bool bias : {false, true}) {
    const Layer layer = random_layer(kHidden, kInputs, bias, GateKind::Identity);
    const GateTerms line = joint_form({linalg, pool, layer.view()}, head, x);
    for (size_t h = 0; h < kHidden; h++) {
      EXPECT_EQ(line.gain[h], 1.0);
      EXPECT_EQ(line.shift[h], 0.0);
    }
  }
}

// It is the least of |error|^2 plus a ridge on the distance from `affine`, whose own ridge is 0.
TEST_F(Joint, NeverHasALargerErrorThanAffineOnItsData) {
  for (int kind = 0; kind < kGateCount; kind++)
    for (const bool bias : {false, true}) {
      const Layer layer =
          random_layer(kHidden, kInputs, bias, static_cast<GateKind>(kind), 40 + 3 * static_cast<uint32_t>(kind));
      const double affine = error(layer, calibrated_form({linalg, pool, layer.view()}, x, Calibration::affine));
      const double joint = error(layer, joint_form({linalg, pool, layer.view()}, head, x));
      EXPECT_LE(joint, affine * (1 + 1e-9)) << "gate " << kind << " bias " << bias;
      if (static_cast<GateKind>(kind) == GateKind::Relu) {
        EXPECT_LT(joint, affine);  // errors of units do cancel
      }
    }
}

TEST_F(Joint, BitsDoNotDependOnTheNumberOfThreads) {
  const Layer layer = random_layer(kHidden, kInputs, true, GateKind::Silu);
  ThreadPool one(1);
  const GateTerms first = joint_form({linalg, one, layer.view()}, head, x);
  for (const size_t threads : {2, 3, 7}) {
    ThreadPool many(threads);
    const GateTerms line = joint_form({linalg, many, layer.view()}, head, x);
    EXPECT_EQ(line.gain, first.gain) << threads;
    EXPECT_EQ(line.shift, first.shift) << threads;
  }
}

TEST_F(Joint, WithoutDataOrWithDeadUnitsTheLinesStayFinite) {
  Layer layer = random_layer(kHidden, kInputs, false, GateKind::Relu);
  for (size_t i = 0; i < kInputs; i++) layer.left(3, i) = layer.right(3, i) = 0;
  const GateTerms line = joint_form({linalg, pool, layer.view()}, head, x);
  EXPECT_EQ(line.gain[3], 1.0);
  for (size_t h = 0; h < kHidden; h++) EXPECT_TRUE(std::isfinite(line.gain[h]) && std::isfinite(line.shift[h]));
  const GateTerms none = joint_form({linalg, pool, layer.view()}, head, x.view().row_range(0, 0));
  for (size_t h = 0; h < kHidden; h++) EXPECT_EQ(none.gain[h], 1.0);
}

struct CalibrationFile : testing::Test {
  const std::string path = testing::TempDir() + "glint-calibration-" + std::to_string(::getpid()) + ".safetensors";
  static StoredCalibration make() {
    StoredCalibration c{.model = "aa", .data = "bb", .inputs = 12};
    c.kinds = {Calibration::joint, Calibration::gain};
    c.terms[Form::calibrated] = {{.gain = {1.5, -2, 1e-300},
                                  .shift = {0.25, 0, -1},
                                  .square = {1, 0, 2},
                                  .left = {3, 4, 5},
                                  .constant = {-1, -2, -3}},
                                 {.gain = {1, 2}}};
    c.terms[Form::scaled] = {{.gain = {1, 2, 3}, .slope = {0, 0.5, 1e-9}, .power = 2.5, .size = 7.25},
                             {.gain = {0.5, -1}}};
    return c;
  }
  const StoredCalibration stored = make();
  const size_t hidden[2] = {3, 2};
  ~CalibrationFile() override { std::filesystem::remove(path); }
  // A file of this program with one thing changed.
  void write(std::map<std::string, std::string> changed, std::vector<double> gain,
             const char* name = "blocks.0.calibrated.gain") {
    std::map<std::string, std::string> metadata = {{"format", "glint-calibration"},
                                                   {"model", "aa"},
                                                   {"data", "bb"},
                                                   {"inputs", "12"},
                                                   {"linalg", "Eigen"},
                                                   {"blocks.0", "gain"}};
    for (auto& [key, value] : changed) metadata[key] = value;
    const TensorToWrite tensor{name, Dtype::f64, {gain.size()}, std::as_bytes(std::span(gain))};
    write_sealed_safetensors(real_files(), path, std::span(&tensor, 1), metadata);
  }
  ErrorCode refused() {
    const size_t one[] = {3};
    try {
      load_calibration(path, one);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::failure;
  }
};

TEST_F(CalibrationFile, ComesBackAsItWas) {
  save_calibration(real_files(), path, stored);
  const StoredCalibration back = load_calibration(path, hidden);
  EXPECT_EQ(back.model, stored.model);
  EXPECT_EQ(back.data, stored.data);
  EXPECT_EQ(back.inputs, stored.inputs);
  EXPECT_EQ(back.linalg, stored.linalg);
  EXPECT_EQ(back.kinds, stored.kinds);
  for (const FormInfo& f : kFormTable) EXPECT_EQ(back.terms[f.form], stored.terms[f.form]) << f.name;
}

// Not every model has the scaled form; a file that lies about it is refused.
TEST_F(CalibrationFile, TheScaledFormMayBeMissingButNotWrong) {
  StoredCalibration changed = stored;
  const auto back = [&] {
    save_calibration(real_files(), path, changed);
    return load_calibration(path, hidden);
  };
  changed.terms[Form::scaled].clear();
  EXPECT_TRUE(back().terms[Form::scaled].empty());
  changed = stored, changed.terms[Form::scaled][0].slope[1] = -0.1;
  EXPECT_THROW(back(), Error);
  changed = stored, changed.terms[Form::scaled][0].power = 0;
  EXPECT_THROW(back(), Error);
  changed = stored, changed.terms[Form::scaled][0].size = std::numeric_limits<double>::infinity();
  EXPECT_THROW(back(), Error);
  changed = stored, changed.terms[Form::scaled][0].gain.pop_back();
  EXPECT_THROW(back(), Error);
  EXPECT_EQ(stored.terms[Form::scaled].size(), 2u);
}

TEST_F(CalibrationFile, HostileFilesAreRefused) {
  write({}, {1, 2, 3});
  EXPECT_EQ(refused(), ErrorCode::failure);  // the unchanged one is fine
  write({{"format", "other"}}, {1, 2, 3});
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  write({{"inputs", "-4"}}, {1, 2, 3});
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  write({{"inputs", "99999999999999999999"}}, {1, 2, 3});
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  write({{"blocks.0", "magic"}}, {1, 2, 3});
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  write({{"blocks.0", "joint"}}, {1, 2, 3});  // without its shifts
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  write({}, {1, 2});
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  write({}, {1, std::numeric_limits<double>::quiet_NaN(), 3});
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  write({}, {1, 2, 3}, "blocks.1.calibrated.gain");
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  const float one = 1;
  const TensorToWrite loose{"blocks.0.calibrated.gain", Dtype::f32, {1}, std::as_bytes(std::span(&one, 1))};
  write_safetensors(real_files(), path, std::span(&loose, 1), {});  // without a checksum
  EXPECT_EQ(refused(), ErrorCode::bad_file);
  write_atomic(real_files(), path, "not a tensor file");
  EXPECT_EQ(refused(), ErrorCode::bad_file);
}

}  // namespace
}  // namespace glint
