// What a reading is asked for: one layer of a model along some directions, or along every token.
#pragma once

#include <optional>
#include <string>

#include "glint/lab/models/run.h"
#include "glint/lab/read/direction.h"
#include "glint/lab/read/passages.h"
#include "glint/lab/work/shares.h"

namespace glint {

struct ReadRequest {
  RunSource source = {};
  std::optional<size_t> layer = {};  // from 1 on; none: the last
  std::string form = "auto";         // whose eigenvectors are given: weights, scaled, calibrated; Run::form
  Along along = {};
  // Language models: an autoencoder of what the layer reads. The `pairs` strongest pairs of its latents for
  // every direction.
  std::string inputs = {};
  size_t pairs = 10;
  size_t strongest = 0;  // so many of the strongest eigenpairs are stored; 0: all
  size_t show = 4;       // eigenvectors of each sign, as pictures or tokens
  size_t near = 8;       // tokens for an eigenvector
  // Language models: so many passages in which each of these eigenvectors, and the hidden units, are strongest,
  // looked for in so many tokens (PassagesRequest); 0: none.
  size_t passages = 0;
  size_t passage_tokens = kPassageTokens;
  // How much is measured beside the eigenvectors. none: nothing, so that a picture is cheap and the form of the
  // weights needs no data; linear: the fidelity of every form, with a linear map as its control; all: an
  // untrained model too.
  std::string controls = "all";
  // What to write, into `out`; "": into the run.
  bool spectra = true, figures = true;
  std::string out = {};
};
std::vector<Field> fields_of(ReadRequest& request);

// Every token of a language model, or every latent of a sparse autoencoder, as a direction of one layer, the
// most concentrated spectra first.
struct ScanRequest {
  RunSource source = {};
  std::optional<size_t> layer = {};  // from 1 on; none: the last
  std::string form = "auto";
  std::string sae = {}, side = "decoder", sae_reads = "auto";  // as in Along; sae "": tokens
  std::string out = {};                                        // folder of the CSV; "": the run
  PieceSharing sharing = {};
};
std::vector<Field> fields_of(ScanRequest& request);

// The fields `layer` and `form` of a request that reads one layer; those that write figures into `out`.
std::vector<Field> layer_fields(std::optional<size_t>& layer, std::string& form,
                                const std::string& form_help = "The form that is drawn and stored");
Field out_field(std::string& out, const std::string& help);
Field figures_field(bool& figures);

}  // namespace glint
