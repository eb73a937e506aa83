#include "glint/lab/read/read_latents.h"

#include <algorithm>
#include <set>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/lab/read/near_tokens.h"

namespace glint {
namespace {

void add_fits(LanguageRun& run, const ReadRequest& q, ReadResult& r) {
  const Autoencoder sae = read_autoencoder(q.along.sae);
  r.text->autoencoder = autoencoder_text(sae);
  const Matrix<float> glu_inputs = run.measured(r.layer).inputs;
  const LatentInputs read = latent_inputs(run.reading(), r.layer, glu_inputs, sae, q.along.sae_reads);
  r.text->unmeasured = read.why_not;
  if (!read.why_not.empty()) return;
  const std::vector<size_t> latents = asked_latents(q.along, sae);
  const Matrix<float> z = latent_activations(run.reading().pool(), sae, read.x, latents);
  // Latents stand behind all other directions.
  const size_t first = r.directions.size() - latents.size();
  run.reading().pool().for_tiles(latents.size(), [&](size_t i, size_t) {
    std::vector<float> own(z.rows());
    for (size_t t = 0; t < own.size(); t++) own[t] = z(t, i);
    const Spectrum& spectrum = r.directions[first + i].form.spectrum;
    r.directions[first + i].latent = latent_fit(spectrum.values, spectrum.vectors, glu_inputs, own);
  });
}

void add_pairs(const Engine& engine, LanguageRun& run, const ReadRequest& q, const Directions& directions,
               ReadResult& r) {
  const Autoencoder sae = read_autoencoder(q.inputs);
  const GluLayerView layer = run.reading().layer(r.layer);
  if (sae.outputs() != layer.inputs())
    bad_file(q.inputs, "its latents are " + std::to_string(sae.outputs()) + " wide",
             std::to_string(layer.inputs()) + ", the width that the layer reads");
  r.text->input_autoencoder = autoencoder_text(sae);
  const GateTerms line = run.line(r.form, r.layer);
  std::set<uint32_t> named;
  for (size_t u = 0; u < directions.count(); u++) {
    const QuadraticPart weights = quadratic_part(directions.weights.view().row(u), line);
    r.directions[u].pairs =
        strongest_pairs({engine.linalg(), engine.pool(), layer}, weights, sae.decoder, q.pairs, [&](size_t done) {
          engine.check_stop();
          engine.progress({.label = "pairs of input latents",
                           .done = done + u * sae.latents(),
                           .total = sae.latents() * directions.count(),
                           .unit = "latents"});
        });
    for (const LatentPair& p : r.directions[u].pairs) named.insert(p.first), named.insert(p.second);
  }
  const std::vector<size_t> latents(named.begin(), named.end());
  if (latents.empty()) return;
  const std::vector<NearTokens> near =
      near_tokens(run, latent_vectors(sae, LatentSide::decoder, latents, layer.inputs()), q.near);
  for (size_t i = 0; i < latents.size(); i++) r.text->input_latents.emplace(static_cast<uint32_t>(latents[i]), near[i]);
}

}  // namespace

std::vector<size_t> asked_latents(const Along& along, const Autoencoder& sae) {
  return parse_numbers(words_of(along, ModelKind::language, DirectionWord::Kind::latent), "latent", "latent", 0,
                       sae.latents() - 1);
}

LatentSide parse_side(const std::string& word) { return word == "encoder" ? LatentSide::encoder : LatentSide::decoder; }

Matrix<double> latent_vectors(const Autoencoder& sae, LatentSide side, std::span<const size_t> latents, size_t width) {
  const Matrix<float>& rows = side == LatentSide::decoder ? sae.decoder : sae.encoder;
  if (rows.cols() != width)
    bad_file(sae.where, "its latents are " + std::to_string(rows.cols()) + " wide",
             std::to_string(width) + ", the width of the residual stream");
  Matrix<double> out(latents.size(), width);
  for (size_t i = 0; i < latents.size(); i++) std::ranges::copy(rows.view().row(latents[i]), out.view().row_ptr(i));
  return out;
}

LatentInputs latent_inputs(const GluModel& model, size_t layer, ConstMatrixView<float> glu_inputs,
                           const Autoencoder& sae, const std::string& reads) {
  LatentPlace place = sae.place;
  if (reads == "input")
    place = LatentPlace::glu_input;
  else if (reads == "output")
    place = LatentPlace::glu_output;
  LatentInputs out;
  const std::string hint = "; `sae_reads=input` or `sae_reads=output` says that it reads this layer";
  if (!sae.unscaled.empty())
    out.why_not = sae.unscaled;
  else if (reads == "auto" && place == LatentPlace::stream)
    out.why_not = "the autoencoder reads the residual stream (" + printable(sae.hook) + ")" + hint;
  else if (reads == "auto" && place == LatentPlace::unknown)
    out.why_not = "its file does not say where the autoencoder reads" + hint;
  else if (reads == "auto" && sae.layer > 0 && sae.layer != layer + 1)
    out.why_not = "the autoencoder is of layer " + std::to_string(sae.layer);
  else if (sae.inputs() != (place == LatentPlace::glu_input ? glu_inputs.cols() : model.outputs(layer)))
    out.why_not = "the autoencoder reads vectors of width " + std::to_string(sae.inputs());
  if (!out.why_not.empty()) return out;
  if (place == LatentPlace::glu_input) {
    out.x = Matrix<float>(glu_inputs.rows(), glu_inputs.cols());
    for (size_t i = 0; i < glu_inputs.rows(); i++) std::ranges::copy(glu_inputs.row(i), out.x.view().row_ptr(i));
    return out;
  }
  const Matrix<double> y = layer_outputs(model.reader(layer), hidden_weights(model.projection(layer)), glu_inputs);
  out.x = Matrix<float>(y.rows(), y.cols());
  for (size_t i = 0; i < y.size(); i++) out.x.data()[i] = static_cast<float>(y.data()[i]);
  return out;
}

std::string autoencoder_text(const Autoencoder& sae) {
  std::string text = sae.format;
  if (!sae.architecture.empty()) text += ", " + printable(sae.architecture);
  text += ", " + std::to_string(sae.latents()) + " latents";
  if (!sae.hook.empty()) text += ", reads " + printable(sae.hook);
  return text;
}

void add_latents(const Engine& engine, LanguageRun& run, const ReadRequest& q, const Directions& directions,
                 ReadResult& r) {
  if (!q.along.sae.empty() && !q.along.from_layer) add_fits(run, q, r);
  engine.check_stop();
  if (!q.inputs.empty()) add_pairs(engine, run, q, directions, r);
}

}  // namespace glint
