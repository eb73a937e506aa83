// A trained language model of glint opened for reading.
#pragma once

#include "glint/model/language_file.h"
#include "glint/nn/compute.h"
#include "glint/spectra/token_model.h"

namespace glint {

class LanguageReading : public TokenModel {
 public:
  // Keeps references.
  LanguageReading(const LanguageModel& model, const Compute& compute, const LinearAlgebra& linalg);

  const LanguageModel& model() const { return model_; }
  const LinearAlgebra& linalg() const override { return linalg_; }
  ThreadPool& pool() const override { return compute_.pool; }
  size_t layers() const override { return model_.config.layers; }
  GluLayerView layer(size_t i) const override;
  WeightRows projection(size_t i) const override;  // P [d, h]
  ConstMatrixView<float> unembedding() const;      // [vocab, d]
  InputMap input_map() const override;             // the token embedding, one row per token
  std::string weights_hash() const override;

  size_t vocab() const override { return model_.config.vocab; }
  size_t width() const override { return model_.config.d_model; }
  size_t context() const override { return model_.config.context; }
  Matrix<double> token_directions(std::span<const TokenId> tokens) const override;
  void embeddings(size_t first, MatrixView<float> out) const override;
  Matrix<float> inputs(std::span<const TokenRow> rows, size_t layer, size_t most) const override;
  ResidualTrace follow(std::span<const TokenId> tokens) const override;

 private:
  const LanguageModel& model_;
  const Compute& compute_;
  const LinearAlgebra& linalg_;
  TransformerParams params_;
};

}  // namespace glint
