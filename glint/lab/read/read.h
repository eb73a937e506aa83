// Reading the weights of a run: one layer of an image or a language model along some directions, each taken
// apart into eigenvectors, and how far to trust what they say. The capability behind `glint spectrum`.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "glint/data/dataset.h"
#include "glint/io/json.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/near_tokens.h"
#include "glint/lab/read/passages.h"
#include "glint/lab/read/read_request.h"
#include "glint/lab/work/engine.h"
#include "glint/lab/work/result_files.h"
#include "glint/model/config_file.h"
#include "glint/report/signed_picture.h"
#include "glint/spectra/glu_model.h"
#include "glint/spectra/language_reading.h"
#include "glint/spectra/latents.h"

namespace glint {

struct ShownVector {
  double value = 0;
  std::vector<double> pixels = {};  // image models: a number per input
  NearTokens near = {};             // language models
};

struct ReadDirection {
  std::string name;
  std::optional<Trust> trust = {};  // none: nothing was measured
  UnitForm form;
  std::optional<SpectrumRank> rank = {};                  // none where not all eigenvalues are known
  std::vector<double> energy = {};                        // empty where not all eigenvalues are known
  std::vector<ShownVector> positive = {}, negative = {};  // the strongest first
  NearTokens linear_near = {};                            // language models: of the linear part
  std::vector<Responses> responses = {};                  // passages of those, then of the hidden unit
  std::vector<double> linear_pixels = {};                 // image models: its picture; empty: there is none
  std::optional<LatentFit> latent = {};                   // a latent whose activations are known
  std::vector<LatentPair> pairs = {};                     // of input latents, strongest first
  bool has_linear() const;
};

// One form over all classes (ImageParts::whole_model) or over the directions.
struct ReadForm {
  Form form = Form::weights;
  Fidelity fidelity;
  std::vector<double> truncation = {};  // accuracy with k eigenvectors, from k = 0; only for the whole model
  bool linear_part = false;
  // Its gains depend on the size of the input. Then `truncation` has the eigenvectors of the median size for
  // every image, and `fidelity` those of each image's own size: its end need not be the form's accuracy.
  bool by_size = false;
};

// Of a form whose gains depend on the size of the layer's input: the size at which its eigenvectors are
// drawn, and how alike the strongest of them (of each sign, mean |cos| over the directions) are at other
// sizes.
struct DrawnSize {
  double size = 0;           // the median over the calibration data
  double low = 0, high = 0;  // the 10 % and 90 % quantile over the data that the reading is measured on
  double low_alike = 0, high_alike = 0;
};

// What was read: the model, its data, the layer and the form.
struct ReadAbout {
  ModelKind kind = ModelKind::image;
  std::string run, model_text;
  Json model;  // the configuration
  std::string gate, trained_on;
  std::string linalg;  // what computed it
  std::string weights_sha256, data, data_checksum;
  std::string calibration;                    // gain, affine or joint
  size_t calibration_inputs = 0, inputs = 0;  // images or tokens
  size_t layer = 0, layers = 0;               // from 0
  std::string expert;                         // of a mixture: the one that was read
  Form form = Form::weights;
  Form default_form = Form::weights;             // that "auto" means for this run
  std::string samples = "validation stories";    // of a language model: what the tokens are of
  std::string alone;                             // why nothing was measured; "": it was
  std::string untrained = "an untrained model";  // what the second control is of: Run::untrained_text
  // What file names say: the directions asked for; empty for all classes of the last layer.
  std::string asked;
  PictureSize size;  // of the pixels; 0 x 0: the samples are vectors
};

// What only image models have.
struct ImageParts {
  bool whole_model = false;  // the last layer of a classifier: fidelity is that of all classes
  bool residual = false;     // a residual path goes past the layer to the logits and belongs to no eigenvector
  LocalError local;
  // Directions that several outputs share; with more than one direction, all eigenpairs known.
  SharedDirections shared;
  std::vector<SignedPicture> shared_pictures;  // of the first
};

// What only language models have.
struct TokenParts {
  // What must be said before a reading is trusted: read_result.h. Empty: nothing.
  std::vector<std::string> warnings;
  // What the latents are of and, "" where their activations were measured, why not.
  std::string autoencoder, unmeasured;
  std::string input_autoencoder;
  std::map<uint32_t, NearTokens> input_latents;  // those of all pairs
  std::optional<PassageText> passage_text;       // where passages were looked for
  std::string passages_page;                     // the HTML file that was written
};

struct ReadResult : ReadAbout {
  std::vector<ReadForm> forms;     // weights, scaled where the model has it, calibrated
  Controls controls;               // of all forms, over the same units
  std::optional<DrawnSize> drawn;  // none: the eigenvectors are the same at every size of the input
  std::vector<ReadDirection> directions;
  std::optional<ImageParts> image;   // this
  std::optional<TokenParts> text;    // or this
  std::string spectra;               // the file that was written
  std::string figures_folder;        // "": no figures
  std::vector<std::string> figures;  // the SVG files that were written

  bool whole_model() const { return image && image->whole_model; }
  const ReadForm& chosen() const;
  std::vector<std::string> names() const;
};

// What the form that is shown comes from: "from the weights alone", "fitted to 500 tokens of tales".
std::string origin_text(const ReadResult& result);
ReadResult read(const Engine& engine, const ReadRequest& request);
ReadResult read(const Engine& engine, Run& run, const ReadRequest& request);
// What the files of a reading show: the spectrum of every direction, the eigenvectors of all as pictures, the
// accuracy with few of them, directions that several share. The first are those of the directions, in order.
std::vector<FigureFile> read_figures(const ReadResult& result);
// "schema": "glint-read/1".
nlohmann::ordered_json to_json(const ReadResult& result);

struct ScannedToken {
  uint32_t id = 0;  // of the token, or of the latent
  std::string piece, text;
  bool is_text = true;  // not a byte or a mark
  SpectrumRank rank = {};
  double energy = 0, largest = 0, smallest = 0;
  Trust trust = {};
  std::optional<LatentFit> latent = {};
};

struct ScanResult {
  std::string run, linalg;
  Form form = Form::weights;
  size_t strongest = 0;                 // of so many eigenpairs ranks and energy are, in wide layers; 0: of all
  std::string samples;                  // what the tokens that it is measured on are of
  std::string untrained;                // as in ReadResult
  size_t layer = 0;                     // from 0
  Fidelity fidelity;                    // over all that the layer adds to the residual stream
  Controls controls;                    // over the same
  std::vector<std::string> warnings;    // as in ReadResult
  std::string autoencoder, unmeasured;  // as in ReadResult; the first "": tokens
  std::vector<ScannedToken> tokens;     // or latents
  std::string csv;                      // the file that was written
  size_t left = 0;                      // pieces that other workers still scan; then the rest is empty
};

// Tells its progress and can be stopped; then the same call goes on. The ranks of the engine's group share
// the tokens, and rank 0 has the result, or workers that join; it is the same at any number of them.
ScanResult scan(const Engine& engine, const ScanRequest& request);
ScanResult scan(const Engine& engine, LanguageRun& run, const ScanRequest& request);
// "schema": "glint-scan/1".
nlohmann::ordered_json to_json(const ScanResult& result);

}  // namespace glint
