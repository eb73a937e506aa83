// A language model of another program opened for reading: the GLU of any of its layers, with the norm before
// it taken into the weights, so that a layer reads vectors of length sqrt(d) as in glint's own models:
//
//   L = L_file diag(w), R = R_file diag(w)      P = diag(w_after) P_file      u_t = w_final * H_t
//
// w are the weights of the norms. Where a norm follows the GLU (Gemma 2, OLMo 2) a direction is right up to
// the positive factor by which that norm divides. The weights stay in the file as they are stored; w goes
// beside them. Of a mixture one expert is opened; what it reads is not known, since such a model is not run.
#pragma once

#include <map>

#include "glint/model/family_pass.h"
#include "glint/spectra/token_model.h"

namespace glint {

class FamilyReading : public TokenModel {
 public:
  // Keeps references. `expert`: of a mixture, its number from 1 on or "shared"; "": layers without experts.
  // Error (usage) for what is no expert of the model; Error (numeric) from here and from all calls where
  // weights are no numbers.
  FamilyReading(const FamilyModel& model, const Compute& compute, const LinearAlgebra& linalg,
                const std::string& expert = {});

  const FamilyModel& model() const { return model_; }
  const LinearAlgebra& linalg() const override { return linalg_; }
  ThreadPool& pool() const override { return compute_.pool; }
  size_t layers() const override { return model_.config().layers; }
  // One thread at a time.
  GluLayerView layer(size_t i) const override;
  WeightRows projection(size_t i) const override;
  bool normed(size_t i) const;  // whether a norm comes before the GLU
  // The whole embedding as floats, made when it is first asked for.
  InputMap input_map() const override;
  // Of the names, types and shapes of all tensors and of the ends of their bytes: the files are too large to
  // be read for it.
  std::string weights_hash() const override;

  size_t vocab() const override { return model_.vocab(); }
  size_t width() const override { return model_.config().d_model; }
  size_t context() const override { return model_.window(); }
  Matrix<double> token_directions(std::span<const TokenId> tokens) const override;
  void embeddings(size_t first, MatrixView<float> out) const override;
  Matrix<float> inputs(std::span<const TokenRow> rows, size_t layer, size_t most) const override;
  ResidualTrace follow(std::span<const TokenId> tokens) const override;
  double token_constant(TokenId token) const override;
  std::vector<float> output_bias(size_t i) const override;
  double logit_cap() const override { return model_.config().logit_cap; }

 private:
  struct Biases {
    std::vector<float> left, right;
  };
  const FamilyLayer& layer_at(size_t i) const;
  const NormWeights& norm_before(size_t i) const;
  const StoredGlu& glu(size_t i) const;
  // The same, when all of it are numbers: FamilyModel::check_numbers.
  const StoredMatrix& checked(const StoredMatrix& matrix) const;

  const FamilyModel& model_;
  const Compute& compute_;
  const LinearAlgebra& linalg_;
  mutable std::map<size_t, Biases> biases_;  // of layers whose norm has one
  enum class Part { own, expert, shared } part_ = Part::own;
  size_t expert_ = 0;
  mutable Matrix<float> embedding_;
};

}  // namespace glint
