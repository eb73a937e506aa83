// Models of other programs as models that are trained: every gradient against PyTorch (tests/golden/make_trainable.py)
// and against differences, the way back to other programs, and who is refused.
#include "glint/model/trainable.h"

#include <numeric>

#include "glint/base/rng.h"
#include "glint/model/family_pass.h"
#include "glint/model/generator.h"
#include "tests/model/model_testing.h"
#include "tests/model/parity.h"

namespace glint {
namespace {

using namespace model_testing;

constexpr double kTolerance = 1e-5;  // relative to the largest magnitude of the tensor

struct Trainable {
  explicit Trainable(const Golden& golden, const std::string& name)
      : model(open_weights(std::string(GLINT_GOLDEN_DIR) + "/trainable/" + name)),
        config(trainable_config(model)),
        params(transformer_params(config)),
        weights(trainable_weights(model, config)) {
    const FloatMatrix tokens = golden.get(name + "/tokens");
    ids.assign(flat(tokens).begin(), flat(tokens).end());
    size_t at = 0;
    for (const size_t n : golden.json["lengths"]) {
      const std::span<const TokenId> row(ids.data() + at, n + 1);
      rows.push_back({row.first(n), row.last(n)});
      at += n + 1;
    }
  }
  std::shared_ptr<const LanguageModel> language() const {
    auto m = std::make_shared<LanguageModel>();
    m->config = config, m->weights = weights;
    return m;
  }
  FamilyModel model;
  TransformerConfig config;
  TransformerParams params;
  Matrix<float> weights;
  std::vector<TokenId> ids;
  std::vector<TokenRow> rows;
};

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = Golden("trainable/gradients").json["cases"];
  return all;
}

TEST(Trainable, LogitsLossesAndGradientsAreThoseOfPyTorch) {
  const Golden golden("trainable/gradients");
  for (const std::string& name : names())
    for (const Isa isa : runnable_isas(cpu())) {
      const std::string label = name + " on " + std::string(glint::name(isa)) + ": ";
      const TestMachine machine(2, isa);
      const Trainable t(golden, name);
      TransformerEngine engine(t.config, machine.compute, 3, true);
      Matrix<float> gradients(1, t.params.table.floats());
      engine.set_weights(t.weights.span());
      const FloatMatrix logits = golden.get(name + "/logits"), losses = golden.get(name + "/losses");
      size_t at = 0;
      for (const TokenRow& row : t.rows) {
        Matrix<float> out(row.input.size(), t.config.vocab);
        engine.logits(row, out);
        const ConstMatrixView<float> want = logits.view.row_range(at, row.input.size());
        expect_close<float>(out.span(), {want.data(), out.size()}, kTolerance, label + "logits");
        at += row.input.size();
      }
      const TextResult r = engine.forward_backward(t.rows, gradients.span());
      double total = 0;
      for (const float v : flat(losses)) total += static_cast<double>(v);
      EXPECT_NEAR(r.loss, total, kTolerance * total) << label;
      size_t compared = 0;
      for (const ParamSpec& s : t.params.table.specs()) {
        const FloatMatrix want = golden.get(name + "/gradients/" + s.name);
        expect_close<float>(gradients.span().subspan(s.offset, s.size()), flat(want), kTolerance, label + s.name);
        compared += s.size();
      }
      EXPECT_EQ(compared, t.params.table.parameters());
    }
}

// Along a random direction: (L(w + h v) - L(w - h v)) / 2h = <g, v>.
TEST(Trainable, GradientsAreDifferencesOfLosses) {
  const Golden golden("trainable/gradients");
  const TestMachine machine(1);
  for (const std::string& name : names()) {
    const Trainable t(golden, name);
    TransformerEngine engine(t.config, machine.compute, 4, true);
    const size_t floats = t.params.table.floats();
    Matrix<float> gradients(1, floats), moved(1, floats);
    engine.set_weights(t.weights.span());
    engine.forward_backward(t.rows, gradients.span());
    for (size_t p = 0; p < t.params.table.specs().size(); p++) {
      const ParamSpec& s = t.params.table[p];
      // Along the gradient itself the difference is largest, and a part that is missing shows.
      const std::span<const float> g = gradients.span().subspan(s.offset, s.size());
      double norm = 0;
      for (const float v : g) norm += static_cast<double>(v) * v;
      norm = std::sqrt(norm);
      if (norm < 1e-4) continue;  // biases of keys change no loss
      const double h = 1e-2;
      const auto loss = [&](double step) {
        std::ranges::copy(t.weights.span(), moved.data());
        for (size_t i = 0; i < s.size(); i++) moved.data()[s.offset + i] += static_cast<float>(step * g[i] / norm);
        engine.set_weights(moved.span());
        const TextResult r = engine.evaluate(t.rows);
        return r.loss / static_cast<double>(r.tokens);
      };
      EXPECT_NEAR((loss(h) - loss(-h)) / (2 * h), norm, 5e-3 * norm + 2e-5) << name << ", " << s.name;
    }
  }
}

TEST(Trainable, SameBytesAtAnyNumberOfThreads) {
  const Golden golden("trainable/gradients");
  for (const std::string& name : names()) {
    const Trainable t(golden, name);
    Matrix<float> first;
    for (const size_t threads : {1, 2, 3, 7}) {
      const TestMachine machine(threads);
      TransformerEngine engine(t.config, machine.compute, 3, true);
      Matrix<float> gradients(1, t.params.table.floats());
      engine.set_weights(t.weights.span());
      engine.forward_backward(t.rows, gradients.span());
      if (threads == 1)
        first = gradients;
      else
        EXPECT_EQ(std::memcmp(first.data(), gradients.data(), first.size() * sizeof(float)), 0) << name << threads;
    }
  }
}

// The same chain of additions in two processes.
TEST(Trainable, SameBytesWhenLanesAreShared) {
  const Golden golden("trainable/gradients");
  const TestMachine machine(2);
  for (const std::string& name : names()) {
    const Trainable t(golden, name);
    TransformerEngine engine(t.config, machine.compute, 4, true);
    const size_t floats = t.params.table.floats();
    Matrix<float> whole(1, floats), part(1, floats);
    engine.set_weights(t.weights.span());
    engine.forward_backward(t.rows, whole.span());
    uint64_t tokens = 0;
    for (const TokenRow& row : t.rows) tokens += row.input.size();
    const std::vector<Range> lanes = {{0, 1}, {1, 1}};
    std::vector<float> handed;
    const OrderedSum first = [&](std::span<const Range> pieces, size_t, std::span<float> values, const FoldPieces& fold) {
      for (size_t i = 0; i < pieces.size(); i++) fold({i, 1});
      handed.assign(values.begin(), values.end());
    };
    const OrderedSum second = [&](std::span<const Range> pieces, size_t, std::span<float> values,
                                  const FoldPieces& fold) {
      std::ranges::copy(handed, values.begin());
      for (size_t i = 0; i < pieces.size(); i++) fold({i, 1});
    };
    engine.forward_backward(std::span(t.rows).first(2), part.span(), LaneShare{lanes, 0, tokens, first});
    engine.forward_backward(std::span(t.rows).last(2), part.span(), LaneShare{lanes, 2, tokens, second});
    EXPECT_EQ(std::memcmp(whole.data(), part.data(), floats * sizeof(float)), 0) << name;
  }
}

// Its own copies of GGUF files have pairs side by side; after widening both are the same model.
TEST(Trainable, OpensEveryFileOfTheSameModelAlike) {
  const std::string folder = std::string(GLINT_GOLDEN_DIR) + "/families/";
  for (const std::string name : {"llama", "llama3", "qwen2", "qwen3"}) {
    const FamilyModel a(open_weights(folder + name)), b(open_weights(folder + name + ".gguf"));
    const TransformerConfig config = trainable_config(a);
    const Matrix<float> x = trainable_weights(a, config), y = trainable_weights(b, trainable_config(b));
    ASSERT_EQ(x.size(), y.size()) << name;
    EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(float)), 0) << name;
  }
}

TEST(Trainable, GoesBackToItsFamily) {
  const Golden golden("trainable/gradients");
  const TestMachine machine(2);
  for (const std::string& name : names()) {
    const Trainable t(golden, name);
    const FamilyModel own = glint_model(t.language(), "own"), back = family_model(t.language(), "back");
    EXPECT_EQ(back.config().family, t.model.config().family) << name;
    const FloatMatrix logits = golden.get(name + "/logits");
    const TokenRow& row = t.rows.front();
    for (const FamilyModel* m : {&own, &back}) {
      FamilyPass pass(*m, machine.compute, row.input.size());
      Matrix<float> out(row.input.size(), t.config.vocab);
      pass.feed_all(row.input, [&](size_t first, MatrixView<float> some) {
        for (size_t i = 0; i < some.rows(); i++) std::ranges::copy(some.row(i), out.view().row_ptr(first + i));
      });
      expect_close<float>(out.span(), {logits.view.data(), out.size()}, kTolerance, name);
    }
  }
}

// A token at a time, with keys and values kept.
TEST(Trainable, WritesWithACache) {
  const Golden golden("trainable/gradients");
  const TestMachine machine(2);
  for (const std::string& name : names()) {
    const Trainable t(golden, name);
    Generator generator(t.config, machine.compute, 2);
    generator.set_weights(t.weights.span());
    const TokenRow& row = t.rows.front();
    const FloatMatrix logits = golden.get(name + "/logits");
    for (size_t i = 0; i < row.input.size(); i++) {
      const uint32_t slot = 1;
      const MatrixView<float> out = generator.step({&slot, 1}, {&row.input[i], 1});
      expect_close<float>(out.row(0), std::span<const float>(logits.view.row_ptr(i), t.config.vocab), kTolerance, name);
    }
  }
}

TEST(Trainable, OthersAreRefusedByName) {
  const std::string folder = std::string(GLINT_GOLDEN_DIR) + "/families/";
  for (const auto& [name, title, why] :
       {std::tuple("gemma", "Gemma", "multiplied"), {"gemma2", "Gemma 2", "norms after"},
        {"gemma3", "Gemma 3", "norms after"}, {"mixtral", "Mixtral", "experts"}, {"olmo2", "OLMo 2", "norms"},
        {"stablelm", "StableLM", "layer norms"}, {"mistral", "Mistral", "look back"}}) {
    const FamilyModel model(open_weights(folder + name));
    const ErrorParts e = error_of([&] { trainable_config(model); });
    EXPECT_NE(e.what.find(title), std::string::npos) << e.what;
    EXPECT_NE(e.what.find(why), std::string::npos) << e.what;
    EXPECT_EQ(e.code, ErrorCode::usage);
  }
}

}  // namespace
}  // namespace glint
