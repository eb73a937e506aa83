#include "glint/lab/logits.h"

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

}  // namespace

Matrix<float> image_logits(const Engine& engine, const std::string& run, ConstMatrixView<uint8_t> images) {
  return logits_of_images(engine, run, images);
}

Matrix<float> image_logits(const Engine& engine, const std::string& run, ConstMatrixView<float> images) {
  return logits_of_images(engine, run, images);
}

Matrix<float> language_logits(const Engine& engine, const std::string& directory,
                              std::span<const TokenId> tokens) {
  const LanguageRun run = load_language_run(engine, directory);
  TransformerEngine transformer(run.model.config, engine.compute(), 1, false);
  transformer.set_weights(run.model.weights.span());
  Matrix<float> out(tokens.size(), run.model.config.vocab);
  transformer.logits({.input = tokens, .target = {}}, out);
  return out;
}

std::vector<TokenId> text_tokens(const Engine& engine, const std::string& run, const std::string& text) {
  return prompt_tokens(engine, load_language_run(engine, run), text);
}

}  // namespace glint
