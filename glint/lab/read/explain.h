// One image explained: what the model makes of it, and which eigenvectors speak for and against each class.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "glint/lab/models/image_run.h"
#include "glint/lab/work/engine.h"
#include "glint/report/explain_figure.h"
#include "glint/spectra/explanation.h"

namespace glint {

// Of either kind of model; explain_token.h has the language models.
struct ExplainRequest {
  RunSource source = {};
  std::string form = "auto";  // whose eigenvectors are shown: weights, scaled, calibrated, local; Run::form
  size_t show = 4;            // eigenvectors for and against
  bool figures = true;        // write OUT/figures/explain-*.svg, .png, .csv
  std::string out = {};       // "": Run::results
  // Image models.
  std::optional<size_t> index = {};  // an image of the data, from 0 on; this or `image`
  std::string image = {};            // a PNG file
  Matrix<uint8_t> picture = {};      // the same in memory
  std::string split = "test";        // or train: which images `index` counts
  std::string unit = {};             // as in direction.h; "": the decided, the runner-up and the true one
  bool as_is = false;                // only resize a picture: neither invert nor centre it
  // Language models.
  std::string prompt = {};              // what the model reads
  std::optional<size_t> position = {};  // after so many tokens of it; none: all
  std::string token = {};               // "": the one that the model expects most
  std::string against = {};             // "": none
  std::string layers = {};              // "6", "1,6" or "all", from 1 on; "": the one whose GLU adds most
  size_t near = 8;                      // tokens for an eigenvector
};
std::vector<Field> fields_of(ExplainRequest& request);

struct ExplainResult {
  std::string linalg = {};           // what computed it
  std::string run, model;            // the directory; "sqs, 1 layer, width 256, ..."
  std::string input;                 // "test image 7 of mnist"
  std::string prepared = {};         // what was done to a picture of one's own
  std::optional<size_t> label = {};  // the true class, where it is known
  std::vector<uint8_t> pixels = {};  // to look at; empty where the samples are no pictures
  PictureSize size = {};
  size_t layers = 1;
  std::vector<std::string> class_names = {};  // printable
  std::vector<std::string> class_texts = {};  // "3 Dress", or "3" where that is the name
  std::vector<double> logits = {}, probabilities = {};
  std::vector<size_t> order = {};  // classes by logit; the first is the decision
  Form form = Form::weights;
  std::vector<ClassExplanation> classes = {};  // what every form makes of the logit
  std::vector<ExplainedClass> shown = {};      // the same classes: their strongest eigenvectors, with pictures
  Form trusted = Form::weights;  // the form whose fidelity is given: the one shown; for local, the default
  Fidelity fidelity = {};        // of that form over the test images
  Controls controls = {};        // of that form
  std::string figure = {};       // the SVG that was written
};

ExplainResult explain(const Engine& engine, const ExplainRequest& request);
// The same for a run that is open already: its data are used, whatever the request says.
ExplainResult explain(const Engine& engine, ImageRun& run, const ExplainRequest& request);
// The first test image that the model and the form both get right; 0 when there is none.
size_t clear_image(ImageRun& run, Form form);

// "says 3 Dress with 97.1 %, right".
std::string verdict_text(const ExplainResult& result);
// How far the form can be trusted, a sentence.
std::string trust_text(const ExplainResult& result);
// What the figure shows; its title and note may be replaced before it is drawn by explain_figure.
Explanation explanation_figure(const ExplainResult& result);

// "schema": "glint-explain/1".
nlohmann::ordered_json to_json(const ExplainResult& result);

}  // namespace glint
