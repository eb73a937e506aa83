// Latents of sparse autoencoders in a reading: as output directions, as the basis of what a layer reads, and
// how far their activations go with eigenvectors; not for callers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "glint/lab/models/run.h"
#include "glint/lab/read/read.h"
#include "glint/model/autoencoder.h"

namespace glint {

// Those that the words name, from 0 on, as the programs that train autoencoders count them.
std::vector<size_t> asked_latents(const Along& along, const Autoencoder& sae);

// Which row of a latent is its direction in the output of a layer: what it writes, or what it looks for.
enum class LatentSide { decoder, encoder };
LatentSide parse_side(const std::string& word);

// One row per latent. Error (bad_file) when they are not as wide as the outputs of the layer.
Matrix<double> latent_vectors(const Autoencoder& sae, LatentSide side, std::span<const size_t> latents, size_t width);

// What an autoencoder reads at these inputs of a layer, or why that is not known: `reads` is "input",
// "output", or "auto": what its file says.
struct LatentInputs {
  Matrix<float> x;
  std::string why_not = {};
};
LatentInputs latent_inputs(const GluModel& model, size_t layer, ConstMatrixView<float> glu_inputs,
                           const Autoencoder& sae, const std::string& reads);

// "SAELens, standard, 256 latents, reads blocks.2.hook_mlp_out".
std::string autoencoder_text(const Autoencoder& sae);

// Fills in what a reading says of latents: the fits of directions that are latents, and the strongest pairs
// of the latents of `inputs`.
void add_latents(const Engine& engine, LanguageRun& run, const ReadRequest& request, const Directions& directions,
                 ReadResult& result);

}  // namespace glint
