// A language model opened for reading, whichever program trained it: what reading needs beside its layers,
// and what follows from that. The GLU of any layer is read along directions of the residual stream, of which
// every token has one, and its eigenvectors are seen as the tokens whose embeddings point along them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glint/model/residual_trace.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/scan.h"

namespace glint {

class TokenModel : public GluModel {
 public:
  virtual size_t vocab() const = 0;    // rows of the embedding and of the unembedding
  virtual size_t context() const = 0;  // tokens that it reads at once
  virtual size_t width() const = 0;    // of the residual stream
  // The direction of each token in the residual stream, [n, width]: its row of the unembedding, times the
  // weights of the last norm where that has any.
  virtual Matrix<double> token_directions(std::span<const TokenId> tokens) const = 0;
  // Rows of the embedding from token `first` on, [n, width].
  virtual void embeddings(size_t first, MatrixView<float> out) const = 0;
  // What the GLU of a layer reads at the tokens of these rows, [n, d]: whole rows, until there are `most`
  // tokens or more.
  virtual Matrix<float> inputs(std::span<const TokenRow> rows, size_t layer, size_t most) const = 0;
  Activations activations(size_t layer, const ModelInputs& samples) const override;
  // The last of these tokens through all layers.
  virtual ResidualTrace follow(std::span<const TokenId> tokens) const = 0;
  // What biases behind the residual stream add to the logit of a token.
  virtual double token_constant(TokenId) const { return 0; }
  // What layer i adds to the residual stream beside P times its hidden units, [width]; empty: nothing.
  virtual std::vector<float> output_bias(size_t) const { return {}; }
  virtual double logit_cap() const { return 0; }  // logits become cap tanh(logit / cap); 0: they stay

  // Hidden weights [rows, h] of layer i for directions [rows, width]: u' P.
  Matrix<double> hidden(size_t layer, ConstMatrixView<double> directions) const;

  // The lines of one layer, fitted to inputs of it: `affine`, and the scaled form where it has one.
  struct Lines {
    GateLine calibrated, scaled;
    size_t inputs = 0;
  };
  Lines layer_lines(size_t layer, ConstMatrixView<float> x) const;
  // Of all layers, from these rows.
  StoredCalibration calibrate(std::span<const TokenRow> rows, const std::string& data_checksum) const;
  // The scaled form alone.
  std::vector<GateLine> scaled_lines(std::span<const TokenRow> rows) const;
  static constexpr size_t kCalibrationTokens = 20000, kFidelityTokens = 20000;

  // Fidelity and shares as in glint::read, over all that a layer adds to the residual stream and along many
  // directions: those of a plan of this layer, without one those of every token. Blocks as in Activations.
  struct LayerFidelity {
    Fidelity all;  // units: the directions of the residual stream
    double eigenvectors_r2 = 0, linear_share = 0;
    struct Tokens {                                           // or other directions
      std::vector<double> r2, eigenvectors_r2, linear_share;  // of each
    } tokens;
  };
  LayerFidelity layer_fidelity(size_t layer, const GateLine& line, ConstMatrixView<float> x,
                               std::span<const size_t> blocks = {}, const ScanPlan* along = nullptr) const;

  // Of every vector [n, d] with the embedding of every token, [n, vocab]. The entry of an eigenvector that
  // belongs to a bias is left out.
  Matrix<double> products(ConstMatrixView<double> vectors) const;
  // Tokens whose embeddings have the largest (first) and smallest (second) cosine with a vector, of those
  // that `candidate` lets through, all when it is empty: a token that no text has keeps the embedding it was
  // born with, and says nothing. Vectors as in products().
  struct NearToken {
    TokenId token = 0;
    double cosine = 0;
  };
  struct NearTokens {
    std::vector<NearToken> positive, negative;
  };
  NearTokens near(std::span<const double> vector, size_t count,
                  const std::function<bool(TokenId)>& candidate = {}) const;
  // The same for every row; the embedding is gone through once.
  std::vector<NearTokens> near(ConstMatrixView<double> vectors, size_t count,
                               const std::function<bool(TokenId)>& candidate = {}) const;

  // Every token of the vocabulary as an output direction of a layer, for scan_directions.
  ScanPlan token_scan(size_t layer) const;

 private:
  // The same, and the squared lengths of the embeddings, [vocab].
  Matrix<double> products(ConstMatrixView<double> vectors, std::vector<double>& squares) const;
};

}  // namespace glint
