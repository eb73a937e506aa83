// Comparison with tensors that PyTorch made, relative to the largest magnitude of each tensor.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>

#include "glint/io/json.h"
#include "glint/io/safetensors.h"
#include "glint/model/params.h"

namespace glint::model_testing {

// tests/golden/NAME.safetensors and NAME.json.
struct Golden {
  explicit Golden(const std::string& name)
      : tensors(std::string(GLINT_GOLDEN_DIR) + "/" + name + ".safetensors"),
        json(read_json(std::string(GLINT_GOLDEN_DIR) + "/" + name + ".json")) {}
  const SafetensorsFile tensors;
  const Json json;
  FloatMatrix get(const std::string& name) const { return tensors->matrix(name, tensors->at(name).shape); }
};

inline std::span<const float> flat(const FloatMatrix& m) { return {m.view.data(), m.view.rows() * m.view.cols()}; }

template <class Want>
void expect_close(std::span<const float> got, std::span<const Want> want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 0, worst = 0;
  for (const Want v : want) largest = std::max(largest, std::fabs(static_cast<double>(v)));
  for (size_t i = 0; i < got.size(); i++) {
    const double error = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  }
  EXPECT_LE(worst, tolerance * largest) << what << ", largest magnitude " << largest;
}

// `flat` has the tensors of the table one after another, without gaps.
inline void expect_tensors(const ParamTable& table, std::span<const float> got, std::span<const float> flat,
                           double tolerance, const std::string& what) {
  ASSERT_EQ(flat.size(), table.parameters());
  size_t at = 0;
  for (const ParamSpec& s : table.specs()) {
    expect_close<float>(got.subspan(s.offset, s.size()), flat.subspan(at, s.size()), tolerance, what + " " + s.name);
    at += s.size();
  }
}

// Into the table's buffer.
inline void spread(const ParamTable& table, std::span<const float> flat, std::span<float> buffer) {
  ASSERT_EQ(flat.size(), table.parameters());
  size_t at = 0;
  for (const ParamSpec& s : table.specs()) {
    std::copy_n(flat.data() + at, s.size(), buffer.data() + s.offset);
    at += s.size();
  }
}

}  // namespace glint::model_testing
