// The image model against PyTorch: logits, loss, every gradient, weights after 1 and 3 steps of AdamW, and
// learning rates. The golden values are doubles rounded to float (tests/golden/make_classifier.py).
#include <cmath>

#include "glint/model/classifier.h"
#include "glint/model/model_file.h"
#include "glint/train/optimizer.h"
#include "tests/model/model_testing.h"
#include "tests/model/parity.h"

namespace glint {
namespace {

using namespace model_testing;

constexpr double kTolerance = 1e-5;  // relative to the largest magnitude of the tensor
const std::string kGolden = GLINT_GOLDEN_DIR;

ClassifierConfig config_from(const Json& k) {
  ClassifierConfig c;
  c.inputs = k["inputs"];
  c.classes = k["classes"];
  c.layers = k["layers"];
  c.d_model = k["d_model"];
  c.d_hidden = k["d_hidden"];
  c.gate = {parse_gate(k["gate"].get<std::string>()), {k["c"], k["lambda"], k["p"]}};
  c.bias = k["bias"];
  c.residual = k["residual"];
  c.norm = k["norm"] == "rms" ? Norm::rms : Norm::none;
  return c;
}

void check_case(const Golden& golden, const Json& c, const TestMachine& machine, const std::string& target) {
  const std::string name = c["name"];
  const auto get = [&](const char* key) { return golden.get(name + "/" + key); };
  const ClassifierConfig config = config_from(c["config"]);
  const FloatMatrix inputs = get("inputs"), labels_as_floats = get("labels"), start = get("weights");
  const size_t batch = inputs.view.rows();
  std::vector<uint32_t> labels;
  for (const float l : flat(labels_as_floats)) labels.push_back(static_cast<uint32_t>(l));

  ClassifierEngine engine(config, machine.compute, batch, true);
  const ParamTable& table = engine.params().table;
  Matrix<float> weights(1, table.floats()), gradients(1, table.floats());
  spread(table, flat(start), weights.span());
  const ClassifierEngine::RowSource rows = [&](size_t row, float* out) {
    std::copy_n(inputs.view.row_ptr(row), inputs.view.cols(), out);
  };
  const std::string label = name + " on " + target + ": ";
  engine.set_weights(weights.span());
  const BatchResult seen = engine.evaluate(batch, rows, labels);
  const FloatMatrix logits = get("logits");
  Matrix<float> evaluated(batch, config.classes), kept(batch, config.classes);
  for (size_t i = 0; i < batch; i++) std::ranges::copy(engine.logits().row(i), evaluated.view().row_ptr(i));
  for (size_t i = 0; i < batch; i++)
    expect_close<float>(engine.logits().row(i), logits.view.row(i), kTolerance,
                        label + "logits of row " + std::to_string(i));
  const double loss = get("loss").view(0, 0);
  EXPECT_NEAR(seen.loss / static_cast<double>(batch), loss, kTolerance * loss) << label;

  const Json& o = golden.json["optimizer"];
  Adamw adamw(table, {o["beta1"], o["beta2"], o["eps"], o["weight_decay"], c["clip"]});
  for (uint64_t step = 1; step <= 3; step++) {
    const BatchResult r =
        engine.forward_backward(batch, rows, labels, gradients.span(), step == 1 ? kept.view() : MatrixView<float>());
    if (step == 1) {
      EXPECT_TRUE(std::ranges::equal(kept.span(), evaluated.span())) << label << "logits beside gradients";
      EXPECT_EQ(r.loss, seen.loss) << label;
      EXPECT_EQ(r.correct, seen.correct) << label;
      expect_tensors(table, gradients.span(), flat(get("gradients")), kTolerance, label + "gradient of");
    }
    const double norm = adamw.step(machine.compute, step, o["lr"], gradients.span(), weights.span());
    if (step == 1 && c["clip"] > 0) {
      const double want = get("norm").view(0, 0);
      EXPECT_NEAR(norm, want, kTolerance * want) << label;
    }
    engine.set_weights(weights.span());
    if (step == 1) expect_tensors(table, weights.span(), flat(get("after1")), kTolerance, label + "after one step");
  }
  expect_tensors(table, weights.span(), flat(get("after3")), kTolerance, label + "after three steps");
}

TEST(ClassifierParity, EveryCaseOnEveryLevel) {
  const Golden golden("classifier");
  EXPECT_EQ(golden.json["cases"].size(), 25u);
  for (const Isa isa : runnable_isas(cpu())) {
    const TestMachine machine(2, isa);
    for (const Json& c : golden.json["cases"]) check_case(golden, c, machine, std::string(name(isa)));
  }
}

TEST(ClassifierParity, APlaceForLogitsOfAnotherSizeIsRefused) {
  const TestMachine machine(1);
  ClassifierConfig config;
  config.inputs = 4, config.classes = 3, config.d_model = 5;
  ClassifierEngine engine(config, machine.compute, 8, true);
  Matrix<float> weights(1, engine.params().table.floats()), gradients(1, weights.cols());
  engine.set_weights(weights.span());
  const std::vector<uint32_t> labels(8);
  const ClassifierEngine::RowSource rows = [](size_t, float* out) { std::fill_n(out, 4, 1.0f); };
  for (const auto& [n, classes] : {std::pair<size_t, size_t>{5, 3}, {6, 2}, {6, 4}}) {
    Matrix<float> place(n, classes);
    EXPECT_THROW(engine.forward_backward(6, rows, labels, gradients.span(), place), Error);
  }
}

// The clipping case clips: otherwise the comparison says nothing about it.
TEST(ClassifierParity, TheClippedGradientIsAboveTheBound) {
  const Golden golden("classifier");
  size_t clipped = 0;
  for (const Json& c : golden.json["cases"])
    if (c["clip"] > 0)
      clipped += golden.get(c["name"].get<std::string>() + "/norm").view(0, 0) > c["clip"].get<double>();
  EXPECT_EQ(clipped, 1u);
}

// PyTorch's scheduler multiplies its way from epoch to epoch: one rounding each.
TEST(ClassifierParity, CosineSchedule) {
  const Golden golden("classifier");
  for (const Json& s : golden.json["schedules"]) {
    const double base = s["base"];
    const uint64_t epochs = s["epochs"], steps = 5;
    const LearningRate rate{base, Schedule::cosine_epoch, 0, steps, epochs};
    ASSERT_EQ(s["rates"].size(), epochs);
    for (uint64_t e = 0; e < epochs; e++)
      for (uint64_t i = 0; i < steps; i++)
        EXPECT_NEAR(rate.at(e * steps + i), s["rates"][e].get<double>(), 1e-14 * base) << e;
    // By step: an epoch of one step is the same thing.
    const LearningRate by_step{base, Schedule::cosine_step, 0, 1, epochs};
    for (uint64_t e = 0; e < epochs; e++) EXPECT_NEAR(by_step.at(e), s["rates"][e].get<double>(), 1e-14 * base) << e;
  }
}

TEST(ClassifierParity, AModelMadeByPyTorchLoads) {
  const ImageModel model = load_image_model(kGolden + "/torch_model");
  EXPECT_EQ(model.height, 3u);
  EXPECT_EQ(model.width, 4u);
  EXPECT_EQ(model.class_names, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(model.config.hidden(), 10u);
  const SafetensorsFile expected(kGolden + "/torch_model/logits.safetensors");
  const FloatMatrix inputs = expected->matrix("inputs"), logits = expected->matrix("logits");
  const TestMachine machine(2);
  ClassifierEngine engine(model.config, machine.compute, inputs.view.rows(), false);
  engine.set_weights(model.weights.span());
  const std::vector<uint32_t> labels(inputs.view.rows());
  engine.evaluate(
      inputs.view.rows(),
      [&](size_t row, float* out) { std::copy_n(inputs.view.row_ptr(row), inputs.view.cols(), out); }, labels);
  for (size_t i = 0; i < inputs.view.rows(); i++)
    expect_close<float>(engine.logits().row(i), logits.view.row(i), kTolerance, "logits of row " + std::to_string(i));
}

}  // namespace
}  // namespace glint
