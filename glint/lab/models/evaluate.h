// How good a trained model is: an image model on a set of images, with what it confuses and where it is most
// wrong; a language model on the stories of a corpus or on any text.
#pragma once

#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/data/dataset.h"
#include "glint/io/json.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/models/run.h"
#include "glint/lab/work/engine.h"
#include "glint/model/classifier.h"

namespace glint {

struct EvaluationRequest {
  RunSource source = {};       // for a language model a corpus as `data`, or a file as `text`
  std::string split = "test";  // or "train"; of a corpus its validation stories
  std::string words = {};      // a text in memory instead of that file
  // Image models.
  size_t worst = 10;                    // images with the highest loss to tell of
  std::string logits = {}, sheet = {};  // files to write: .npy with all logits, .png with the worst images
};
std::vector<Field> fields_of(EvaluationRequest& request);

struct ClassEvaluation {
  std::string name;
  size_t images = 0, predicted = 0, correct = 0;
  // recall = found / images of the class; precision = found / predicted as the class. NaN for 0 / 0.
  double recall() const { return static_cast<double>(correct) / static_cast<double>(images); }
  double precision() const { return static_cast<double>(correct) / static_cast<double>(predicted); }
};

struct WorstImage {
  size_t index = 0, label = 0, predicted = 0;
  double loss = 0, p_predicted = 0, p_true = 0;
  std::vector<uint8_t> pixels = {};  // empty where the samples are no pictures
};

struct ImageEvaluation {
  std::string run;
  ClassifierConfig model;
  std::string model_text;  // "sqs, 1 layer, width 256, 334336 parameters"
  std::string data, data_origin, data_checksum, split, trained_on, precision;
  size_t height = 0, width = 0;  // of an image; 0: the samples are vectors
  size_t images = 0, correct = 0;
  double loss = 0, accuracy = 0, standard_error = 0;
  Matrix<uint32_t> confusion;  // [true, predicted]
  std::vector<ClassEvaluation> classes;
  std::vector<WorstImage> worst;  // the highest loss first
  Matrix<float> logits;           // [images, classes]
  std::string logits_file, sheet_file;

  std::string class_text(size_t c) const;  // "3 Dress", or "3" where that is the name
};

// In the precision of the run its figures are those of its last evaluation. Error (numeric) when the loss is
// not a number.
ImageEvaluation evaluate_images(const Engine& engine, const EvaluationRequest& request);
ImageEvaluation evaluate_images(const Engine& engine, ImageRun& run, const EvaluationRequest& request);
OrderedJson to_json(const ImageEvaluation& result);

// The losses at the places [first, last] of the stories, counted from 0.
struct LossStretch {
  size_t first = 0, last = 0;
  double loss = 0;  // the sum
  uint64_t tokens = 0;
  double mean() const { return loss / static_cast<double>(tokens); }
};

struct TextEvaluation {
  std::string run;
  Json model;          // the configuration
  size_t context = 0;  // tokens that the model sees at once
  std::string text;    // what it is: "tales, 200 validation stories"
  uint64_t stories = 0, pieces = 0, tokens = 0, correct = 0;
  uint64_t cut = 0;  // stories whose end is beyond the context and left out
  double total_loss = 0;
  uint64_t bytes = 0;                             // of a text file; 0 for a corpus
  uint64_t replaced = 0, unknown = 0, empty = 0;  // of a text file
  std::vector<LossStretch> positions;             // stretches that double: 1, 2, 3 to 4, 5 to 8, ...

  double loss() const { return total_loss / static_cast<double>(tokens); }  // per token
  double perplexity() const;
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(tokens); }
  double bits_per_byte() const;            // of a text file
  std::vector<std::string> notes() const;  // what is not as it should be in the text, a sentence each
};

// Stories of a corpus are cut at the model's context, as in training. Those of a text go through whole:
// beyond the context in pieces that overlap by half of it, so that every token is counted once and has at
// least half a context before it. A model of another program reads a text after the beginning that its
// tokenizer puts there, and without an end; every token but the first counts. Error (numeric) when the loss
// is not a number.
TextEvaluation evaluate_text(const Engine& engine, const EvaluationRequest& request);
TextEvaluation evaluate_text(const Engine& engine, const LanguageRun& run, const EvaluationRequest& request);
OrderedJson to_json(const TextEvaluation& result);

}  // namespace glint
