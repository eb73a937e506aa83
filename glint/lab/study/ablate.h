// Taking eigenvectors out of a model and looking at what it does then: the causal check of a reading. What is
// removed is a direction of the input of one layer (spectra/ablation.h); the changed model can be saved as a
// run.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/direction.h"
#include "glint/spectra/ablation.h"

namespace glint {

struct AblationRequest {
  RunSource source = {};
  std::optional<size_t> layer = {};  // from 1 on; none: the last
  std::string form = "auto";         // whose eigenvectors are removed, and which predicts the change
  Along along = {};                  // the directions whose eigenvectors are removed
  // Which eigenvectors of each direction, by rank: 1 has the largest |eigenvalue|. "1,3", "1..5".
  std::string remove = "1";
  double scale = 0;       // what is left of the input along them, from 0 to 1000: 0 removes, 2 doubles
  std::string save = {};  // a new folder for the changed model, as a run; "": none
};
std::vector<Field> fields_of(AblationRequest& request);

// Over some images, or over some tokens of text.
struct Score {
  size_t inputs = 0;
  double loss = 0;                                             // mean; 0 without inputs
  double accuracy = std::numeric_limits<double>::quiet_NaN();  // NaN where it is not measured
};

struct RemovedVector {
  std::string direction;
  size_t rank = 0;  // from 1 on
  double value = 0;
};

// What becomes of one class, or of one token: of the inputs whose label or next token it is.
struct ClassEffect {
  std::string name;
  Score before = {}, after = {};
  double output_before = 0,
         output_after = 0;               // mean over these inputs: the logit; a token: the layer's output
  std::optional<ChangeFit> change = {};  // over all inputs; none for classes below the last layer
};

// One set of eigenvectors removed at once.
struct AblationEffect {
  std::string direction = {};  // whose they are; "": those of all directions
  std::vector<RemovedVector> removed = {};
  size_t dimensions = 0;  // of what they span in the layer's input
  Score after = {};
  ChangeFit change = {};                  // along the direction, or along all of them together
  std::vector<ClassEffect> classes = {};  // all classes, or the tokens asked for
  std::optional<size_t> own_class = {};   // the class that the direction is
};

struct Ablation {
  std::string run, model_text, gate, data, linalg;
  Form form = Form::weights;
  ModelKind kind = ModelKind::image;
  size_t layer = 0, layers = 0, width = 0;  // layer from 0; width: of its input
  double scale = 0;
  Score before;
  std::vector<AblationEffect> each;  // every direction by itself; empty when there is only one
  AblationEffect all;                // this one is saved
  std::string saved;                 // the folder of the changed model
};

// Error (usage) for a rank that there is not, and before any work for a folder `save` that holds something.
Ablation ablate(const Engine& engine, const AblationRequest& request);
Ablation ablate(const Engine& engine, Run& run, const AblationRequest& request);
// "schema": "glint-ablate/1".
OrderedJson to_json(const Ablation& result);

}  // namespace glint
