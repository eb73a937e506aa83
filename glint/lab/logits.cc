#include "glint/lab/logits.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/lab/generate.h"
#include "glint/lab/run.h"
#include "glint/spectra/image_reading.h"

namespace glint {
namespace {

template <class T>
Matrix<float> logits_of_images(const Engine& engine, const std::string& directory,
                               ConstMatrixView<T> images) {
  const LoadedRun run = load_run(engine, directory);
  const ImageReading reading(run.model, engine.compute(), engine.linalg());
  return std::move(reading.run(images, reading.last()).logits);
}

Matrix<float> foreign_logits(const Engine& engine, const std::string& path, std::span<const TokenId> tokens) {
  const ForeignModel m = open_foreign(path, {}, false);
  if (tokens.size() > m.window())
    throw Error({.code = ErrorCode::usage,
                 .what = std::to_string(tokens.size()) + " tokens",
                 .where = "tokens",
                 .expected = "at most " + std::to_string(m.window()) + ", the context of the model"});
  FamilyPass pass(m.model, engine.compute(), std::max<size_t>(1, tokens.size()));
  Matrix<float> out(tokens.size(), m.model.vocab());
  pass.feed_all(tokens, [&](size_t first, MatrixView<float> some) {
    for (size_t i = 0; i < some.rows(); i++) std::ranges::copy(some.row(i), out.view().row_ptr(first + i));
    engine.check_stop();
  });
  return out;
}

}  // namespace

Matrix<float> image_logits(const Engine& engine, const std::string& run, ConstMatrixView<uint8_t> images) {
  return logits_of_images(engine, run, images);
}

Matrix<float> image_logits(const Engine& engine, const std::string& run, ConstMatrixView<float> images) {
  return logits_of_images(engine, run, images);
}

Matrix<float> language_logits(const Engine& engine, const std::string& directory,
                              std::span<const TokenId> tokens) {
  if (is_foreign(directory)) return foreign_logits(engine, directory, tokens);
  const LanguageRun run = load_language_run(engine, directory);
  TransformerEngine transformer(run.model.config, engine.compute(), 1, false);
  transformer.set_weights(run.model.weights.span());
  Matrix<float> out(tokens.size(), run.model.config.vocab);
  transformer.logits({.input = tokens, .target = {}}, out);
  return out;
}

std::vector<TokenId> text_tokens(const Engine& engine, const std::string& run, const std::string& text,
                                 const std::string& tokenizer) {
  if (is_foreign(run)) return open_foreign(run, tokenizer).tokens(text);
  return prompt_tokens(engine, load_language_run(engine, run), text);
}

std::string tokens_text(const Engine& engine, const std::string& run, std::span<const TokenId> tokens,
                        const std::string& tokenizer) {
  const Run opened(engine, {.run = run, .tokenizer = tokenizer});
  const Tokenizer& own = opened.tokenizer();
  for (const TokenId t : tokens)
    if (t >= own.size())
      throw Error({.code = ErrorCode::usage,
                   .what = "there is no token " + std::to_string(t),
                   .where = "tokens",
                   .expected = "below " + std::to_string(own.size())});
  return own.decode(tokens);
}

}  // namespace glint
