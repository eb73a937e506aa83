#include "glint/spectra/language_reading.h"

#include <algorithm>

#include "glint/base/argument.h"
#include "glint/base/sha256.h"
#include "glint/model/residual_trace.h"
#include "glint/nn/embedding.h"

namespace glint {

LanguageReading::LanguageReading(const LanguageModel& model, const Compute& compute,
                                 const LinearAlgebra& linalg)
    : model_(model),
      compute_(compute),
      linalg_(linalg),
      params_((check(model.config), transformer_params(model.config))) {
  params_.table.check_buffer(model.weights.span(), "weights");
}

GluLayerView LanguageReading::layer(size_t i) const {
  if (i >= layers())
    bad_argument("layer", "there is no layer " + std::to_string(i), "below " + std::to_string(layers()));
  const size_t h = model_.config.hidden();
  const ConstMatrixView<float> w = params_.table.view(model_.weights.span(), params_.blocks[i].mlp_w);
  return {.left = w.row_range(0, h),
          .right = w.row_range(h, h),
          .bias_left = {},
          .bias_right = {},
          .gate = model_.config.gate,
          .normed = true};
}

WeightRows LanguageReading::projection(size_t i) const {
  return params_.table.view(model_.weights.span(), params_.blocks[i].mlp_p);
}

ConstMatrixView<float> LanguageReading::unembedding() const {
  return params_.table.view(model_.weights.span(), params_.head);
}

InputMap LanguageReading::input_map() const {
  return {.matrix = params_.table.view(model_.weights.span(), params_.wte), .row_is_input = true, .bias = {}};
}

std::string LanguageReading::weights_hash() const { return sha256_hex(std::as_bytes(model_.weights.span())); }

void LanguageReading::embeddings(size_t first, MatrixView<float> out) const {
  const ConstMatrixView<float> e = input_map().matrix;
  for (size_t t = 0; t < out.rows(); t++) std::ranges::copy(e.row(first + t), out.row_ptr(t));
}

Matrix<double> LanguageReading::token_directions(std::span<const TokenId> tokens) const {
  const ConstMatrixView<float> u = unembedding();
  check_tokens(tokens, u.rows());
  Matrix<double> out(tokens.size(), u.cols());
  for (size_t i = 0; i < tokens.size(); i++) std::ranges::copy(u.row(tokens[i]), out.view().row_ptr(i));
  return out;
}

Matrix<float> LanguageReading::inputs(std::span<const TokenRow> rows, size_t i, size_t most) const {
  TransformerEngine engine(model_.config, compute_, 1, false);
  engine.set_weights(model_.weights.span());
  size_t tokens = 0, used = 0;
  while (used < rows.size() && tokens < most) tokens += rows[used++].input.size();
  Matrix<float> x(tokens, model_.config.d_model);
  engine.trace(rows.first(used), i, x);
  return x;
}

ResidualTrace LanguageReading::follow(std::span<const TokenId> tokens) const {
  TransformerEngine engine(model_.config, compute_, 1, false);
  engine.set_weights(model_.weights.span());
  return engine.follow({tokens, {}});
}

}  // namespace glint
