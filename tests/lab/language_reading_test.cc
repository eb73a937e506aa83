// Readings of a real language model against NumPy: stories260K, all layers, five directions, all forms.
// tests/golden/make_language_reading.py computed them, from the model file alone, and says what each is.
#include <gtest/gtest.h>

#include <cmath>

#include "glint/io/json.h"
#include "glint/lab/read/read.h"
#include "tests/data/idx_files.h"
#include "tests/lab/real_model.h"

namespace glint {
namespace {

TEST(RealModel, ReadingsOfStories260KAreThoseOfNumPy) {
  const std::string model = fixtures::real_model("stories260K.bin"), tok = fixtures::real_model("tok512.bin");
  if (model.empty() || tok.empty()) GTEST_SKIP() << "stories260K is not here: GLINT_MODELS=DIR";
  const std::string folder = GLINT_GOLDEN_DIR "/reading/";
  const Json golden = read_json(folder + "stories260K.json");
  const std::vector<std::string> directions = {"happy", ".", "Lily", "she - he", "hidden 7"};
  const Engine engine({.threads = 2});
  ReadRequest request{.source = RunSource{.run = model, .data = folder + "tales.txt"}};
  request.source.tokenizer = tok, request.spectra = request.figures = false;
  request.along.directions = {"happy,.,Lily", "she - he", "hidden:7"};
  for (size_t layer = 0; layer < golden["layers"].size(); layer++)
    for (const char* form : {"weights", "scaled", "calibrated"}) {
      SCOPED_TRACE("layer " + std::to_string(layer + 1) + ", " + form);
      request.layer = layer + 1, request.form = form;
      const ReadResult r = read(engine, request);
      EXPECT_EQ(r.calibration_inputs, golden["calibration_tokens"].get<size_t>());
      EXPECT_EQ(r.inputs, golden["tokens"].get<size_t>());
      ASSERT_EQ(r.directions.size(), directions.size());
      for (size_t u = 0; u < directions.size(); u++) {
        SCOPED_TRACE(r.directions[u].name);
        const Json& expected = golden["layers"][layer][directions[u]][form];
        // The model runs in float: its inputs are off by some 1e-6, in no common direction, over 741 tokens.
        // R2 is 1 - a ratio of sums; the ratio has that error.
        const double r2 = expected["r2"].get<double>();
        EXPECT_NEAR(r.directions[u].trust->r2, r2, 1e-6 * std::max(1.0, 1 - r2));
        const std::vector<double>& values = r.directions[u].form.spectrum.values;
        ASSERT_EQ(values.size(), expected["eigenvalues"].size());
        double largest = 0;
        for (const Json& v : expected["eigenvalues"]) largest = std::max(largest, std::fabs(v.get<double>()));
        for (size_t k = 0; k < values.size(); k++)
          EXPECT_NEAR(values[k], expected["eigenvalues"][k].get<double>(), 1e-6 * largest) << k;
      }
    }
}

}  // namespace
}  // namespace glint
