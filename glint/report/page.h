// The explorer: one HTML file that holds a trained image model, what its weights say and the program that
// shows it, so that it opens from disk without a network. Everything here is plain numbers and text: the
// lab fills it from a run. language_page.h is the same for language models.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/io/json.h"
#include "glint/model/classifier.h"
#include "glint/model/fidelity.h"

namespace glint {

// A reading of the last layer as a quadratic form: gate(l) ~ gain l + shift for every hidden unit. With
// slopes the gain depends on the size s of the layer's input, gain / (1 + (slope s)^power)^(1/power), and
// what is decomposed is the form at s = `size`.
struct PageForm {
  std::string name;                        // "weights", "scaled", "calibrated"
  std::vector<double> gain;                // [hidden]
  std::vector<double> shift;               // [hidden], or empty: all 0
  std::vector<double> slope = {};          // [hidden], or empty: the gain is the same for every input
  double power = 1, size = 0;              // with slopes
  std::vector<std::vector<double>> below;  // gains of the layers below the last, the first layer first
  Matrix<double> values;                   // [classes, width], each row descending
  Matrix<float> vectors;                   // [classes * 2 strongest, width]: the first of `values`, then the last
  // The same as pictures [.., inputs], for models of several layers, whose last layer does not read pixels:
  // 128 is 0, 1 and 255 are the largest magnitude of each. Empty: the page maps the vectors to pixels itself.
  Matrix<uint8_t> pictures;
  std::vector<double> accuracy;   // [width + 1]: keeping the k terms of largest |value|; may be empty
  std::vector<double> agreement;  // [width + 1]: with the model's decisions; may be empty
  Fidelity fidelity;              // over the test images
  // Of the linear part, empty where the form has none: the vectors [classes, width] and, for models of
  // several layers, their pictures as above.
  Matrix<float> linear;
  Matrix<uint8_t> linear_pictures;
};

struct PageRun {
  std::string name;  // what people call it: the directory
  ClassifierConfig config;
  std::string data;
  size_t height = 0, width = 0;
  std::vector<std::string> class_names;
  std::vector<float> weights;  // the flat buffer of model/params.h
  std::vector<PageForm> forms;
  Controls controls;      // of the forms, over the test images
  std::string form = {};  // the one of them to begin with; "": the last
  size_t strongest = 0;   // eigenvectors kept on either side
  Matrix<float> logits;   // [images, classes], the program's own
  // Where inputs of the last layer usually are: the means of the classes [.., width], and how far from the
  // nearest of them 99 % of the test images stay.
  Matrix<float> usual_means;
  double usual_limit = 0;
  double half_deviation = 0;  // largest change of a logit when the weights are rounded to f16
  Json run = Json::object();  // run.json
  std::vector<Json> metrics;  // the lines of metrics.jsonl
};

struct PageImages {
  std::string what;              // "the first 1000 test images of mnist"
  std::string data = {};         // "mnist"
  size_t total = 0;              // images of the set they come from
  Matrix<uint8_t> pixels;        // [images, height * width]
  std::vector<uint32_t> labels;  // below 256
};

struct PageData {
  std::string version;
  std::string linalg;         // what computed the readings
  std::vector<PageRun> runs;  // one or two, of the same image size and number of classes
  PageImages images;
};

struct Page {
  std::string html;
  bool half = false;  // the weights are f16, because f32 would be over the limit
};

// While the page is over `max_bytes` even with f16 weights, `shrink` takes something out of the data. Error
// (usage) when it gives false or there is none, for labels that do not fit a byte, and for models that do not
// read pictures.
Page make_page(const PageData& data, size_t max_bytes, const std::function<bool()>& shrink = {});

// Controls as a page holds them; agreement and accuracy only of decisions.
nlohmann::ordered_json page_controls(const Controls& controls, bool decisions);

// The files of web/, built into the library.
struct WebFile {
  const char* name;
  const unsigned char* bytes;
  size_t size;
};
std::pair<const WebFile*, size_t> web_files();

// The page around a text of data: for make_page, and for tests that give it hostile data.
std::string page_html(const std::string& title, const std::string& data_json);

// The page of a text of data that can be had with f32 or (true) with f16 weights: f32 where that is within
// the limit. When neither is, again after `shrink`; Error (usage) with the hint when that gives false.
Page page_within(size_t max_bytes, const std::string& name, const std::string& hint,
                 const std::function<std::string(bool half)>& data_json, const std::function<bool()>& shrink = {});

}  // namespace glint
