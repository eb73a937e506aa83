#include "glint/model/autoencoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/io/json.h"
#include "glint/io/safetensors.h"

namespace glint {
namespace {

[[noreturn]] void refuse_autoencoder(const std::string& where, const std::string& what, const std::string& expected) {
  throw Error({.code = ErrorCode::bad_file, .what = what, .where = where, .expected = expected});
}

// The tensors of one file, every one of which must be used.
class LatentTensors {
 public:
  explicit LatentTensors(const SafetensorsFile& file) : file_(file) {}

  bool has(const std::string& name) const { return file_->find(name) != nullptr; }
  std::vector<size_t> shape(const std::string& name, size_t dimensions) const {
    const TensorInfo& t = file_->at(name);
    if (t.shape.size() != dimensions || std::ranges::count(t.shape, size_t{0}))
      refuse_autoencoder(file_->where() + ", " + name, "its shape is " + show_shape(t.shape),
                         dimensions == 1 ? "one dimension" : "a matrix");
    return t.shape;
  }
  Matrix<float> matrix(const std::string& name, size_t rows, size_t cols) const {
    const FloatMatrix m = file_->matrix(name, rows, cols);
    Matrix<float> out(rows, cols);
    for (size_t r = 0; r < rows; r++) std::ranges::copy(m.view.row(r), out.view().row_ptr(r));
    check_finite(name, out.span());
    return out;
  }
  Matrix<float> transposed(const std::string& name, size_t rows, size_t cols) const {
    const FloatMatrix m = file_->matrix(name, rows, cols);
    Matrix<float> out(cols, rows);
    constexpr size_t kBlock = 32;  // of both sides, so that neither jumps through memory
    for (size_t r0 = 0; r0 < rows; r0 += kBlock)
      for (size_t c0 = 0; c0 < cols; c0 += kBlock)
        for (size_t r = r0; r < std::min(rows, r0 + kBlock); r++)
          for (size_t c = c0; c < std::min(cols, c0 + kBlock); c++) out(c, r) = m.view(r, c);
    check_finite(name, out.span());
    return out;
  }
  std::vector<float> vector(const std::string& name, size_t size) const {
    const size_t expected[] = {size};
    const FloatMatrix m = file_->matrix(name, expected);
    const std::span<const float> row = m.view.row(0);
    check_finite(name, row);
    return {row.begin(), row.end()};
  }
  std::vector<float> vector_or_zeros(const std::string& name, size_t size) const {
    return has(name) ? vector(name, size) : std::vector<float>(size);
  }
  // A whole number without dimensions.
  uint64_t count(const std::string& name) const {
    const TensorInfo& t = file_->at(name);
    int64_t value = 0;
    if (!t.shape.empty() || t.dtype != Dtype::i64)
      refuse_autoencoder(file_->where() + ", " + name, "it is no single whole number", "I64 of shape []");
    std::memcpy(&value, t.bytes.data(), sizeof value);
    if (value < 1) refuse_autoencoder(file_->where() + ", " + name, "it is " + std::to_string(value), "1 or more");
    return static_cast<uint64_t>(value);
  }
  void only(std::initializer_list<std::string_view> known) const {
    for (const TensorInfo& t : file_->tensors())
      if (std::ranges::find(known, t.name) == known.end())
        refuse_autoencoder(file_->where() + ", " + t.name, "glint does not know what this tensor does",
                           "no other tensors than those of the format");
  }
  const std::string& where() const { return file_->where(); }

 private:
  void check_finite(const std::string& name, std::span<const float> values) const {
    if (!all_finite(values))
      refuse_autoencoder(file_->where() + ", " + name, "it has values that are not numbers", "finite values");
  }
  const SafetensorsFile& file_;
};

[[noreturn]] void refuse_square(const std::string& where, size_t width) {
  refuse_autoencoder(where,
                     "it has as many latents as inputs, " + std::to_string(width) +
                         ", so that its shape does not tell which way the encoder lies",
                     "more or fewer latents than inputs");
}

// "blocks.3.hook_mlp_out" and the names of PyTorch modules.
void set_place(Autoencoder& sae) {
  const std::string& hook = sae.hook;
  const auto ends = [&](std::string_view end) { return hook.ends_with(end); };
  if (ends("hook_mlp_out") || ends("mlp-out") || ends("mlp_out") || ends(".mlp"))
    sae.place = LatentPlace::glu_output;
  else if (ends("ln2.hook_normalized") || ends("mlp.hook_in"))
    sae.place = LatentPlace::glu_input;
  else if (hook.find("hook_resid_") != hook.npos || ends("hook_mlp_in") || hook.find("resid") != hook.npos)
    sae.place = LatentPlace::stream;
  const size_t digit = hook.find_first_of("0123456789");
  if (digit == hook.npos) return;
  const size_t end = std::min(hook.find_first_not_of("0123456789", digit), hook.size());
  if (end - digit <= 4) sae.layer = std::stoul(hook.substr(digit, end - digit)) + 1;
}

// W_enc, W_dec, b_enc, b_dec; which way the encoder lies is what tells SAELens from circuit-tracer.
void read_named(const LatentTensors& file, Autoencoder& sae) {
  const std::vector<size_t> dec = file.shape("W_dec", 2), enc = file.shape("W_enc", 2);
  const size_t latents = dec[0], outputs = dec[1];
  if (enc[0] == enc[1]) refuse_square(file.where() + ", W_enc", enc[0]);
  if (enc[0] == latents) {
    sae.encoder = file.matrix("W_enc", latents, enc[1]);
  } else if (enc[1] == latents) {
    sae.encoder = file.transposed("W_enc", enc[0], latents);
  } else {
    refuse_autoencoder(file.where() + ", W_enc", "its shape is " + show_shape(enc),
                       "one side of " + std::to_string(latents) + ", the rows of W_dec");
  }
  const bool upright = enc[0] == latents;
  if (sae.format.empty()) sae.format = upright ? "circuit-tracer" : "SAELens";
  sae.decoder = file.matrix("W_dec", latents, outputs);
  sae.decoder_bias = file.vector_or_zeros("b_dec", outputs);
  if (file.has("W_skip")) sae.skip = file.matrix("W_skip", outputs, sae.inputs());
}

Autoencoder read_saelens(const std::string& folder) {
  const SafetensorsFile weights(folder + "/sae_weights.safetensors");
  const LatentTensors file(weights);
  const std::string path = folder + "/cfg.json";
  const Json json = read_json(path);
  const JsonFields cfg(json, path);
  Autoencoder sae{.where = folder, .format = "SAELens"};
  sae.architecture = cfg.optional<std::string>("architecture", "standard");
  std::string kind = sae.architecture;
  for (const std::string_view end : {"_transcoder", "_skip"})
    if (kind.ends_with(end)) kind.resize(kind.size() - end.size()), sae.transcoder = true;
  if (kind == "transcoder" || kind == "skip") kind = "standard", sae.transcoder = true;
  read_named(file, sae);
  for (const auto& [key, size] : {std::pair("d_in", sae.inputs()), std::pair("d_sae", sae.latents())})
    if (cfg.required<uint64_t>(key) != size) cfg.fail(key, "is not what the weights have", std::to_string(size));
  if (cfg.has("d_out") && sae.transcoder && cfg.required<uint64_t>("d_out") != sae.outputs())
    cfg.fail("d_out", "is not what the weights have", std::to_string(sae.outputs()));
  if (!sae.transcoder && sae.inputs() != sae.outputs())
    refuse_autoencoder(file.where() + ", W_dec", "an autoencoder that gives back another width than it reads",
                       std::to_string(sae.inputs()) + " columns");
  sae.centred = cfg.optional<bool>("apply_b_dec_to_input", !sae.transcoder);
  if (sae.centred && sae.inputs() != sae.outputs())
    cfg.fail("apply_b_dec_to_input", "cannot be true for a transcoder of two widths", "false");
  const size_t n = sae.latents();
  if (kind == "standard") {
    file.only({"W_enc", "W_dec", "b_enc", "b_dec", "W_skip"});
  } else if (kind == "jumprelu") {
    file.only({"W_enc", "W_dec", "b_enc", "b_dec", "W_skip", "threshold"});
    sae.rule = LatentRule::jump, sae.threshold = file.vector("threshold", n);
  } else if (kind == "topk") {
    file.only({"W_enc", "W_dec", "b_enc", "b_dec"});
    sae.rule = LatentRule::top;
    sae.k = cfg.required<uint64_t>("k");
    if (sae.k < 1 || sae.k > n) cfg.fail("k", "is out of range", "from 1 to " + std::to_string(n));
    // The pre-activations are multiplied by the decoder's lengths, and the rows of the decoder divided by
    // them.
    if (cfg.optional<bool>("rescale_acts_by_decoder_norm", false))
      cfg.fail("rescale_acts_by_decoder_norm", "is not supported", "false: save the model with its norms folded");
  } else if (kind == "gated") {
    file.only({"W_enc", "W_dec", "b_dec", "b_gate", "b_mag", "r_mag"});
    sae.rule = LatentRule::gated;
    sae.gate_bias = file.vector("b_gate", n), sae.scale = file.vector("r_mag", n);
  } else {
    cfg.fail("architecture", "'" + sae.architecture + "' is not supported",
             "standard, jumprelu, topk, gated, or a transcoder of these");
  }
  sae.bias = kind == "gated" ? file.vector("b_mag", n) : file.vector("b_enc", n);
  const std::string norm = cfg.optional<std::string>("normalize_activations", "none");
  if (norm != "none") sae.unscaled = "`normalize_activations` is \"" + norm + "\"";
  if (cfg.optional<std::string>("reshape_activations", "none") != "none")
    cfg.fail("reshape_activations", "is not supported", "none");
  const JsonFields at = cfg.has("metadata") ? cfg.object("metadata") : cfg;
  // A list where it reads several places; older files say it beside the rest.
  for (const JsonFields& fields : {at, cfg})
    if (sae.hook.empty() && fields.has("hook_name")) sae.hook = fields.optional<std::string>("hook_name", "");
  set_place(sae);
  return sae;
}

Autoencoder read_circuit_tracer(const SafetensorsFile& weights, const std::string& path) {
  const LatentTensors file(weights);
  file.only({"W_enc", "W_dec", "b_enc", "b_dec", "W_skip", "activation_function.threshold", "threshold", "k"});
  Autoencoder sae{.where = path};
  read_named(file, sae);
  sae.transcoder = sae.format == "circuit-tracer";
  const size_t n = sae.latents();
  sae.bias = file.vector("b_enc", n);
  sae.floor =
      !sae.transcoder || (!file.has("activation_function.threshold") && !file.has("threshold") && !file.has("k"));
  for (const char* name : {"activation_function.threshold", "threshold"})
    if (file.has(name)) sae.rule = LatentRule::jump, sae.threshold = file.vector(name, n);
  if (file.has("k")) {
    if (sae.rule == LatentRule::jump)
      refuse_autoencoder(file.where(), "it has both a threshold and a k", "one rule for the latents");
    sae.rule = LatentRule::top, sae.k = file.count("k");
    if (sae.k > n) refuse_autoencoder(file.where() + ", k", "it is more than there are latents", std::to_string(n));
  }
  return sae;
}

// The reference code of bilinear models: linear layers of PyTorch.
Autoencoder read_bilinear(const SafetensorsFile& weights, const std::string& path, const std::string& config) {
  const LatentTensors file(weights);
  file.only({"w_enc.weight", "w_enc.bias", "w_dec.weight", "b_dec"});
  Autoencoder sae{.where = path, .format = "bilinear", .centred = true};
  const std::vector<size_t> enc = file.shape("w_enc.weight", 2);
  if (enc[0] == enc[1]) refuse_square(file.where() + ", w_enc.weight", enc[0]);
  sae.encoder = file.matrix("w_enc.weight", enc[0], enc[1]);
  sae.decoder = file.transposed("w_dec.weight", enc[1], enc[0]);
  sae.decoder_bias = file.vector_or_zeros("b_dec", enc[1]);
  sae.bias = file.vector_or_zeros("w_enc.bias", enc[0]);
  sae.rule = LatentRule::top, sae.floor = false;
  if (config.empty()) {
    sae.unscaled = "there is no config.json with `k` beside the weights";
    return sae;
  }
  const Json json = read_json(config);
  const JsonFields cfg(json, config);
  if (cfg.optional<bool>("bilinear_encoder", false)) cfg.fail("bilinear_encoder", "is not supported", "false");
  if (cfg.has("d_model") && cfg.required<uint64_t>("d_model") != sae.inputs())
    cfg.fail("d_model", "is not what the weights have", std::to_string(sae.inputs()));
  sae.k = cfg.required<uint64_t>("k");
  if (sae.k < 1 || sae.k > sae.latents())
    cfg.fail("k", "is out of range", "from 1 to " + std::to_string(sae.latents()));
  if (cfg.has("normalize") && !json["normalize"].is_null()) sae.divisor = cfg.required<double>("normalize");
  if (!(sae.divisor > 0) || !std::isfinite(sae.divisor)) cfg.fail("normalize", "is out of range", "a number above 0");
  // ["mlp-out", 3]: the place and the layer, from 0 on.
  if (cfg.has("point")) {
    const Json& point = cfg.array("point");
    if (point.size() != 2 || !point[0].is_string() || !point[1].is_number_unsigned())
      cfg.fail("point", "is no place", "a name and a layer");
    sae.hook = point[0].get<std::string>();
    set_place(sae);
    sae.layer = point[1].get<size_t>() + 1;
  }
  return sae;
}

}  // namespace

Autoencoder read_autoencoder(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  if (folder && exists(path + "/sae_weights.safetensors")) return read_saelens(path);
  const std::string file = folder ? path + "/model.safetensors" : path;
  if (!exists(file))
    refuse_autoencoder(path, "there is no sparse autoencoder here",
                       "a folder of SAELens (cfg.json, sae_weights.safetensors) or a .safetensors file");
  const SafetensorsFile weights(file);
  if (weights->find("w_enc.weight")) {
    const std::string beside = std::filesystem::path(file).parent_path().string();
    const std::string config = (beside.empty() ? std::string() : beside + "/") + "config.json";
    return read_bilinear(weights, path, exists(config) ? config : "");
  }
  if (weights->find("W_enc")) return read_circuit_tracer(weights, path);
  refuse_autoencoder(file, "it has no encoder", "a tensor W_enc or w_enc.weight");
}

Matrix<float> latent_activations(ThreadPool& pool, const Autoencoder& sae, ConstMatrixView<float> x,
                                 std::span<const size_t> chosen) {
  check_argument(x.cols() == sae.inputs(), "latent_activations", "vectors as wide as the autoencoder reads");
  for (const size_t latent : chosen)
    check_argument(latent < sae.latents(), "latent_activations", "latents that it has");
  if (!sae.unscaled.empty())
    bad_argument(sae.where, "the activations of its latents are not known: " + sae.unscaled,
                 "an autoencoder without that");
  Matrix<float> out(x.rows(), chosen.size());
  constexpr size_t kRows = 16;
  pool.for_tiles((x.rows() + kRows - 1) / kRows, [&](size_t tile, size_t) {
    std::vector<double> in(sae.inputs());
    const auto pre = [&](size_t latent) {
      double sum = 0;
      const float* e = sae.encoder.view().row_ptr(latent);
      for (size_t j = 0; j < in.size(); j++) sum += static_cast<double>(e[j]) * in[j];
      return sum;
    };
    std::vector<double> all;
    for (size_t i = tile * kRows; i < std::min(x.rows(), (tile + 1) * kRows); i++) {
      for (size_t j = 0; j < in.size(); j++)
        in[j] =
            static_cast<double>(x(i, j)) / sae.divisor - (sae.centred ? static_cast<double>(sae.decoder_bias[j]) : 0.0);
      double least = 0;
      if (sae.rule == LatentRule::top) {
        all.resize(sae.latents());
        for (size_t z = 0; z < all.size(); z++) all[z] = pre(z) + static_cast<double>(sae.bias[z]);
        std::vector<double> sorted = all;
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sae.k - 1), sorted.end(),
                         std::greater<>());
        least = sorted[sae.k - 1];
      }
      for (size_t c = 0; c < chosen.size(); c++) {
        const size_t z = chosen[c];
        double a = 0;
        switch (sae.rule) {
          case LatentRule::relu:
            a = pre(z) + static_cast<double>(sae.bias[z]);
            break;
          case LatentRule::jump:
            a = pre(z) + static_cast<double>(sae.bias[z]);
            if (a <= static_cast<double>(sae.threshold[z])) a = 0;
            break;
          case LatentRule::top:
            a = all[z] >= least ? all[z] : 0;
            break;
          case LatentRule::gated: {
            const double p = pre(z);
            a = p + static_cast<double>(sae.gate_bias[z]) > 0
                    ? std::exp(static_cast<double>(sae.scale[z])) * p + static_cast<double>(sae.bias[z])
                    : 0;
            break;
          }
        }
        out(i, c) = static_cast<float>(sae.floor ? std::max(0.0, a) : a);
      }
    }
  });
  return out;
}

}  // namespace glint
