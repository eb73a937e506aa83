#include "glint/spectra/language_reading.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/nn/embedding.h"

namespace glint {
namespace {

Matrix<float> all_rows(const StoredMatrix& w) {
  Matrix<float> out(w.rows, w.cols);
  widen_rows(w, 0, out);
  return out;
}

// The bias of a half, with what the bias of the norm adds to it: W b.
std::vector<float> with_norm_bias(const StoredMatrix& w, std::span<const float> norm_bias) {
  std::vector<float> bias(w.bias.begin(), w.bias.end());
  bias.resize(w.rows);
  Matrix<float> row(1, w.cols);
  for (size_t r = 0; r < w.rows; r++) {
    widen_rows(w, r, row);
    double sum = 0;
    for (size_t j = 0; j < w.cols; j++) sum += static_cast<double>(row(0, j)) * norm_bias[j];
    bias[r] += static_cast<float>(sum);
  }
  return bias;
}

}  // namespace

LanguageReading::LanguageReading(const FamilyModel& model, const Compute& compute, const LinearAlgebra& linalg,
                                 const std::string& expert)
    : model_(model), compute_(compute), linalg_(linalg) {
  if (expert.empty()) return;
  const FamilyConfig& c = model.config();
  const bool shared = !c.family->names.shared_gate.hf.empty();
  if (!model.mixture()) bad_argument("expert", "the model has no experts: " + model.text(), "a mixture of experts");
  part_ = expert == "shared" ? Part::shared : Part::expert;
  if (part_ == Part::shared && shared) return;
  if (part_ == Part::expert && expert.size() <= 4 && expert.find_first_not_of("0123456789") == expert.npos)
    expert_ = std::stoul(expert);
  if (expert_ < 1 || expert_ > c.experts)
    bad_argument("expert", "the model has no such expert",
                 "a number from 1 to " + std::to_string(c.experts) + (shared ? ", or shared" : ""));
}

const StoredGlu& LanguageReading::glu(size_t i) const {
  const FamilyLayer& l = layer_at(i);
  const size_t number = i + 1, experts = l.experts.size();
  if (part_ == Part::own && l.empty())
    bad_argument("expert",
                 "layer " + std::to_string(number) + " has " + std::to_string(experts) +
                     " experts, which are read one at a time",
                 "one of them, from 1 to " + std::to_string(experts) + (l.shared.empty() ? "" : ", or shared") +
                     ": `spectrum(MODEL, expert=1, hidden=1)`");
  if (part_ == Part::own) return l;
  if (l.experts.empty())
    bad_argument("expert", "layer " + std::to_string(number) + " has no experts", "none for this layer");
  return part_ == Part::shared ? l.shared : l.experts[expert_ - 1];
}

void LanguageReading::check_layer(size_t i) const {
  if (i >= layers())
    bad_argument("layer", "there is no layer " + std::to_string(i), "below " + std::to_string(layers()));
}

const FamilyLayer& LanguageReading::layer_at(size_t i) const {
  check_layer(i);
  return model_.layer(i);
}

const NormWeights& LanguageReading::norm_before(size_t i) const {
  check_layer(i);
  const FamilyLayer& l = model_.layers()[i];
  return model_.config().parallel ? l.before_attention : l.before_glu;
}

const StoredMatrix& LanguageReading::checked(const StoredMatrix& matrix) const {
  model_.check_numbers(matrix, compute_.pool);
  return matrix;
}

GluLayerView LanguageReading::layer(size_t i) const {
  const NormWeights& before = norm_before(i);
  const StoredGlu& l = glu(i);
  checked(l.gate), checked(l.up);
  if (!before.bias.empty() && !biases_.contains(i))
    biases_[i] = {with_norm_bias(l.gate, before.bias), with_norm_bias(l.up, before.bias)};
  std::span<const float> bias_left = l.gate.bias, bias_right = l.up.bias;
  if (!before.bias.empty()) bias_left = biases_[i].left, bias_right = biases_[i].right;
  return {.left = {l.gate, compute_.kernels(), {}, before.weight},
          .right = {l.up, compute_.kernels(), {}, before.weight},
          .bias_left = bias_left,
          .bias_right = bias_right,
          .gate = model_.config().gate,
          .normed = normed(i)};
}

bool LanguageReading::normed(size_t i) const { return norm_before(i).used; }

WeightRows LanguageReading::projection(size_t i) const {
  return {checked(glu(i).down), compute_.kernels(), layer_at(i).after_glu.weight, {}};
}

InputMap LanguageReading::input_map() const {
  if (embedding_.size() == 0) embedding_ = all_rows(checked(model_.embedding()));
  return {.matrix = embedding_, .row_is_input = true, .bias = {}};
}

std::string LanguageReading::weights_hash() const {
  if (!model_.hash().empty()) return model_.hash();
  constexpr size_t kEnd = 4096;
  Sha256 hash;
  for (const StoredTensor& t : model_.file().tensors()) {
    std::string head = t.name + " " + name(t.type);
    for (const size_t n : t.shape) head += " ", head += std::to_string(n);
    hash.update(as_bytes(head));
    hash.update(t.bytes.first(std::min(kEnd, t.bytes.size())));
    hash.update(t.bytes.last(std::min(kEnd, t.bytes.size())));
  }
  return hex(hash.finish());
}

Matrix<double> LanguageReading::token_directions(std::span<const TokenId> tokens) const {
  check_tokens(tokens, model_.vocab());
  const size_t d = model_.config().d_model;
  const StoredMatrix& head = checked(model_.head());
  const NormWeights& norm = model_.final_norm();
  Matrix<double> out(tokens.size(), d);
  Matrix<float> row(1, d);
  for (size_t i = 0; i < tokens.size(); i++) {
    widen_rows(head, tokens[i], row);
    double mean = 0;
    for (size_t j = 0; j < d; j++) {
      out(i, j) = static_cast<double>(row(0, j)) * (norm.weight.empty() ? 1.0 : norm.weight[j]);
      mean += out(i, j) / static_cast<double>(d);
    }
    // A layer norm takes the mean of the stream away: along (1, 1, ...) nothing reaches the logits.
    if (model_.config().family->norm == FamilyNorm::layer)
      for (size_t j = 0; j < d; j++) out(i, j) -= mean;
  }
  return out;
}

void LanguageReading::embeddings(size_t first, MatrixView<float> out) const {
  widen_rows(model_.embedding(), first, out);
}

ResidualTrace LanguageReading::follow(std::span<const TokenId> tokens) const {
  return FamilyPass(model_, compute_, std::max<size_t>(tokens.size(), 1)).follow(tokens);
}

double LanguageReading::token_constant(TokenId token) const {
  check_tokens({&token, 1}, model_.vocab());
  const std::vector<float>&bias = model_.final_norm().bias, &own = model_.head().bias;
  double sum = own.empty() ? 0 : own[token];
  if (bias.empty()) return sum;
  Matrix<float> row(1, bias.size());
  widen_rows(checked(model_.head()), token, row);
  for (size_t j = 0; j < bias.size(); j++) sum += static_cast<double>(row(0, j)) * bias[j];
  return sum;
}

std::vector<float> LanguageReading::output_bias(size_t i) const {
  const FamilyLayer& l = model_.layer(i);
  std::vector<float> bias = l.down.bias;
  for (size_t j = 0; j < bias.size() && !l.after_glu.weight.empty(); j++) bias[j] *= l.after_glu.weight[j];
  return bias;
}

}  // namespace glint
