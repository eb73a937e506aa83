// Classes of neurons of whole models: those of stories260K and stories15M that were counted with NumPy, and a
// small model of a family whose GLU has norms before and after.
#include "glint/lab/read/neurons.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "tests/lab/real_model.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

struct KnownNeurons {
  std::string file;
  std::vector<size_t> orthogonal;
  std::vector<double> median;  // to three digits
};
const KnownNeurons kKnown[] = {
    {"stories260K.bin", {93, 165, 154, 163, 171}, {.174, -.214, -.149, -.163, -.141}},
    {"stories15m/stories15M.bin", {768, 756, 743, 750, 760, 750}, {.083, .099, .011, -.080, -.106, -.132}}};

class RealNeurons : public ::testing::TestWithParam<KnownNeurons> {};

TEST_P(RealNeurons, AreOfTheKnownClasses) {
  const KnownNeurons& known = GetParam();
  const std::string path = fixtures::real_model(known.file);
  if (path.empty()) GTEST_SKIP() << known.file << " is not here: GLINT_MODELS=DIR";
  const Engine engine({.threads = 2});
  const TempFolder folder;
  const NeuronsResult r =
      neurons(engine, {.source = RunSource{.run = path}, .figures = false, .out = folder.path("n")});
  ASSERT_EQ(r.of_layers.size(), known.orthogonal.size());
  for (size_t i = 0; i < known.orthogonal.size(); i++) {
    EXPECT_EQ(r.of_layers[i].counts[static_cast<size_t>(NeuronClass::orthogonal)], known.orthogonal[i]);
    EXPECT_NEAR(r.of_layers[i].median, known.median[i], 5.0001e-4);  // they were rounded
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RealNeurons, ::testing::ValuesIn(kKnown),
                         [](const auto& i) { return i.index ? "Stories15M" : "Stories260K"; });

TEST(Neurons, ResultsHaveALinePerNeuronAndAFigure) {
  const Engine one({.threads = 1}), two({.threads = 2});
  const TempFolder folder;
  const std::string model = GLINT_GOLDEN_DIR "/families/gemma2";
  const NeuronsResult r = neurons(one, {.source = RunSource{.run = model}, .out = folder.path("a")});
  size_t all = 0, counted = 0;
  for (const LayerNeurons& l : r.of_layers) all += l.neurons.size();
  for (const size_t n : r.counts) counted += n;
  EXPECT_EQ(counted, all);
  std::ifstream csv(r.csv);
  size_t lines = 0;
  for (std::string line; std::getline(csv, line);) lines++;
  EXPECT_EQ(lines, all + 1);
  ASSERT_EQ(r.figures.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(r.figures[0]));
  const OrderedJson j = to_json(r);
  EXPECT_EQ(j["schema"], "glint-neurons/1");
  EXPECT_EQ(j["of_layers"].size(), r.layers);

  NeuronsRequest last{.source = RunSource{.run = model}, .layer = r.layers, .out = folder.path("b")};
  const NeuronsResult single = neurons(two, last);
  ASSERT_EQ(single.of_layers.size(), 1u);
  EXPECT_EQ(single.of_layers[0].layer, r.layers - 1);
  for (size_t i = 0; i < single.of_layers[0].neurons.size(); i++)
    EXPECT_EQ(single.of_layers[0].neurons[i].up_down, r.of_layers.back().neurons[i].up_down);
  for (const size_t none : {size_t{0}, r.layers + 1}) {
    last.layer = none, last.out = folder.path("none");
    EXPECT_THROW(neurons(two, last), Error);
    EXPECT_FALSE(std::filesystem::exists(last.out));
  }
}

TEST(Neurons, ImageModelsHaveNone) {
  const fixtures::SavedModel saved;
  try {
    neurons(saved.engine, {.source = RunSource{.run = saved.folder.path()}});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file);
  }
}

}  // namespace
}  // namespace glint
