// A language model opened for reading, whichever program trained it: what reading needs beside its layers,
// and what follows from that. The GLU of any layer is read along directions of the residual stream, of which
// every token has one, and its eigenvectors are seen as the tokens whose embeddings point along them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "glint/model/family_pass.h"
#include "glint/model/layer_pass.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/scan.h"

namespace glint {

// A norm before a GLU is part of its halves, as they read the input after it: its weights are factors of their
// columns, and its bias, times each half, is theirs. A norm behind the GLU is part of P; its size is not, as
// it is another for every input. No matrix is copied.
class LanguageReading : public GluModel {
 public:
  // Keeps references. `expert`: of a mixture, its number from 1 on or "shared"; "": layers without experts.
  // Error (usage) for what is no expert of the model; Error (numeric) from here and from all calls where
  // weights are no numbers.
  LanguageReading(const FamilyModel& model, const Compute& compute, const LinearAlgebra& linalg,
                  const std::string& expert = {});

  const FamilyModel& model() const { return model_; }
  const LinearAlgebra& linalg() const override { return linalg_; }
  ThreadPool& pool() const override { return compute_.pool; }
  size_t layers() const override { return model_.config().layers; }
  GluLayerView layer(size_t i) const override;
  WeightRows projection(size_t i) const override;
  // A float copy of the embedding, made when it is first asked for.
  InputMap input_map() const override;
  // Of small models that of all numbers; of others of the names, types and shapes of the tensors and of the
  // beginning and the end of each.
  std::string weights_hash() const override;
  Activations activations(size_t layer, const ModelInputs& samples) const override;

  size_t vocab() const { return model_.vocab(); }           // rows of the embedding and of the unembedding
  size_t context() const { return model_.window(); }        // tokens that it reads at once
  size_t width() const { return model_.config().d_model; }  // of the residual stream
  bool normed(size_t i) const;                              // whether layer i reads what a norm made
  // The direction of each token in the residual stream, [n, width]: its row of the unembedding, times the
  // weights of the last norm where that has any.
  Matrix<double> token_directions(std::span<const TokenId> tokens) const;
  // Rows of the embedding from token `first` on, [n, width].
  void embeddings(size_t first, MatrixView<float> out) const;
  // What the GLUs read at the tokens of these rows, layer by layer: whole rows, until there are `most` tokens
  // or more. One layer: [n, d].
  LayerPass pass(std::span<const TokenRow> rows, size_t most) const { return {model_, compute_, rows, most}; }
  Matrix<float> inputs(std::span<const TokenRow> rows, size_t layer, size_t most) const {
    return LayerPass(model_, compute_, rows, most).inputs(layer);
  }
  // The last of these tokens through all layers.
  ResidualTrace follow(std::span<const TokenId> tokens) const;
  // What biases behind the residual stream add to the logit of a token.
  double token_constant(TokenId token) const;
  // What layer i adds to the residual stream beside P times its hidden units, [width]; empty: nothing.
  std::vector<float> output_bias(size_t i) const;
  // Logits become cap tanh(logit / cap); 0: they stay.
  double logit_cap() const { return model_.config().logit_cap; }

  // Hidden weights [rows, h] of layer i for directions [rows, width]: u' P.
  Matrix<double> hidden(size_t layer, ConstMatrixView<double> directions) const;

  // The forms that are fitted to data, of all layers, from these rows.
  StoredCalibration calibrate(std::span<const TokenRow> rows, const std::string& data_checksum) const;
  static constexpr size_t kCalibrationTokens = 20000, kFidelityTokens = 20000;

  // Fidelity and the share of the linear part as in glint::read: all of what a layer adds to the residual
  // stream, and as units many directions, of which R2, that of the eigenvectors and the share are measured:
  // those of a plan of this layer, without one those of every token. Blocks as in Activations.
  Fidelity layer_fidelity(size_t layer, const GateTerms& line, ConstMatrixView<float> x,
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

  enum class Part { own, expert, shared };
  void check_layer(size_t i) const;
  const FamilyLayer& layer_at(size_t i) const;
  const NormWeights& norm_before(size_t i) const;
  const StoredGlu& glu(size_t i) const;
  // The same, when all of it are numbers: FamilyModel::check_numbers.
  const StoredMatrix& checked(const StoredMatrix& matrix) const;

  const FamilyModel& model_;
  const Compute& compute_;
  const LinearAlgebra& linalg_;
  Part part_ = Part::own;
  size_t expert_ = 0;  // from 1 on
  mutable Matrix<float> embedding_;
  struct Biases {
    std::vector<float> left, right;
  };
  mutable std::map<size_t, Biases> biases_;  // of layers whose norm has a bias, when they were asked for
};

}  // namespace glint
