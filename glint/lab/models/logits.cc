#include "glint/lab/models/logits.h"

#include <algorithm>

#include "glint/base/error.h"

namespace glint {

Matrix<float> text_logits(const Engine& engine, const FamilyModel& model, std::span<const TokenId> tokens) {
  if (tokens.size() > model.window())
    bad_argument("tokens", std::to_string(tokens.size()) + " tokens",
                 "at most " + std::to_string(model.window()) + ", the context of the model");
  FamilyPass pass(model, engine.compute(), std::max<size_t>(1, tokens.size()));
  Matrix<float> out(tokens.size(), model.vocab());
  pass.feed_all(tokens, [&](size_t first, MatrixView<float> some) {
    for (size_t i = 0; i < some.rows(); i++) std::ranges::copy(some.row(i), out.view().row_ptr(first + i));
    engine.check_stop();
  });
  return out;
}

Matrix<float> language_logits(const Engine& engine, const LanguageRun& run, std::span<const TokenId> tokens) {
  return text_logits(engine, run.model(), tokens);
}

std::string tokens_text(const LanguageRun& run, std::span<const TokenId> tokens) {
  const Tokenizer& own = run.tokenizer();
  for (const TokenId t : tokens)
    if (t >= own.size())
      bad_argument("tokens", "there is no token " + std::to_string(t), "below " + std::to_string(own.size()));
  return own.decode(tokens);
}

}  // namespace glint
