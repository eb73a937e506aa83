// A trained language model opened for reading: the GLU of any of its blocks with output directions in the
// unembedding (a token, one token against another) or in the block's own output, and its eigenvectors seen as
// tokens.
#pragma once

#include <string>
#include <vector>

#include "glint/model/language_file.h"
#include "glint/nn/compute.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/glu_model.h"

namespace glint {

class LanguageReading : public GluModel {
 public:
  // Keeps references.
  LanguageReading(const LanguageModel& model, const Compute& compute, const LinearAlgebra& linalg);

  const LanguageModel& model() const { return model_; }
  const LinearAlgebra& linalg() const override { return linalg_; }
  ThreadPool& pool() const override { return compute_.pool; }
  size_t layers() const override { return model_.config.layers; }
  GluLayerView layer(size_t i) const override;
  ConstMatrixView<float> projection(size_t i) const override;  // P [d, h]
  ConstMatrixView<float> unembedding() const;                  // [vocab, d]
  InputMap input_map() const override;                         // the token embedding, one row per token
  std::string weights_hash() const override;
  Activations activations(size_t layer, const ModelInputs& samples) const override;

  // Hidden weights [rows, h] of layer i for directions [rows, d] of the residual stream: u' P.
  Matrix<double> hidden(size_t layer, ConstMatrixView<double> directions) const;
  // The direction of a token in the residual stream: its row of the unembedding.
  Matrix<double> token_directions(std::span<const TokenId> tokens) const;

  // What the GLU of a layer reads at the first `most` tokens of these rows, [n, d].
  Matrix<float> inputs(std::span<const TokenRow> rows, size_t layer, size_t most) const;

  // Lines of all layers from these rows: `affine`, and the scaled form.
  StoredCalibration calibrate(std::span<const TokenRow> rows, const std::string& data_checksum) const;
  // The scaled form alone.
  std::vector<GateLine> scaled_lines(std::span<const TokenRow> rows) const;
  static constexpr size_t kCalibrationTokens = 20000, kFidelityTokens = 20000;

  // Fidelity and shares as in glint::read, over all that a layer adds to the residual stream and along the
  // unembedding of every token.
  struct LayerFidelity {
    Fidelity all;  // units: the directions of the residual stream
    double eigenvectors_r2 = 0, linear_share = 0;
    struct Tokens {
      std::vector<double> r2, eigenvectors_r2, linear_share;  // [vocab]
    } tokens;
  };
  LayerFidelity layer_fidelity(size_t layer, const GateLine& line, ConstMatrixView<float> x) const;

  // Tokens whose embeddings have the largest (first) and smallest (second) cosine with a vector, of those
  // that `candidate` lets through, all when it is empty: a token that no text has keeps the embedding it was
  // born with, and says nothing.
  struct NearToken {
    TokenId token = 0;
    double cosine = 0;
  };
  struct NearTokens {
    std::vector<NearToken> positive, negative;
  };
  NearTokens near(std::span<const double> vector, size_t count,
                  const std::function<bool(TokenId)>& candidate = {}) const;

  // Every token of the vocabulary as an output direction of a layer: how concentrated its spectrum is. A
  // token a tile; `progress` is told how many are done, from any thread, one call at a time.
  struct Scanned {
    TokenId token = 0;
    SpectrumRank rank;
    double top = 0, bottom = 0;  // the largest and the smallest eigenvalue
    double energy = 0;           // share of the strongest eigenvalue in the sum of squares
    size_t strongest = 0;        // its index
  };
  std::vector<Scanned> scan(size_t layer, const GateLine& line,
                            const std::function<void(size_t done)>& progress = {}) const;
  // Of some tokens only. What is found for a token does not depend on the others.
  std::vector<Scanned> scan(size_t layer, const GateLine& line, Range tokens,
                            const std::function<void(size_t done)>& progress) const;

 private:
  const LanguageModel& model_;
  const Compute& compute_;
  const LinearAlgebra& linalg_;
  TransformerParams params_;
  std::vector<double> embedding_norms_;  // of every token
};

// Of the cosines of all tokens with a vector: the largest and the smallest, of tokens that `candidate` lets
// through.
LanguageReading::NearTokens most_alike(std::span<const double> cosine, size_t count,
                                       const std::function<bool(TokenId)>& candidate = {});

}  // namespace glint
