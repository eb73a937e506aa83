#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/io/json.h"
#include "glint/io/npy.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/run_checks.h"
#include "glint/nn/softmax.h"
#include "glint/report/sheet.h"
#include "glint/train/image_task.h"

namespace glint {
namespace {

// That of the evaluations during training: sums in the same order give the same digits.
constexpr size_t kBatch = 1024;

void count_decisions(const ImageSet& images, const std::vector<size_t>& predicted,
                     const std::vector<std::string>& names, ImageEvaluation& r) {
  const size_t classes = names.size();
  r.confusion = Matrix<uint32_t>(classes, classes);
  for (size_t i = 0; i < r.images; i++) r.confusion(images.labels[i], predicted[i])++;
  for (size_t c = 0; c < classes; c++) {
    ClassEvaluation k{.name = names[c]};
    for (size_t d = 0; d < classes; d++) k.images += r.confusion(c, d), k.predicted += r.confusion(d, c);
    k.correct = r.confusion(c, c);
    r.classes.push_back(k);
  }
  const double n = static_cast<double>(r.images);
  r.accuracy = static_cast<double>(r.correct) / n;
  r.standard_error = std::sqrt(r.accuracy * (1 - r.accuracy) / n);
}

void find_worst(const ImageSet& images, const std::vector<size_t>& predicted, std::span<const float> losses,
                size_t worst, ImageEvaluation& r) {
  std::vector<size_t> order(r.images);
  std::iota(order.begin(), order.end(), size_t{0});
  worst = std::min(worst, r.images);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(worst), order.end(),
                    [&](size_t a, size_t b) { return std::pair(-losses[a], a) < std::pair(-losses[b], b); });
  for (size_t k = 0; k < worst; k++) {
    const size_t i = order[k], label = images.labels[i];
    const std::vector<double> p = softmax(std::as_const(r.logits).view().row(i));
    r.worst.push_back({.index = i,
                       .label = label,
                       .predicted = predicted[i],
                       .loss = losses[i],
                       .p_predicted = p[predicted[i]],
                       .p_true = p[label],
                       .pixels = picture_bytes(images, i)});
  }
}

void measure(const Engine& engine, const ImageModel& model, const ImageSet& images,
             const std::vector<std::string>& names, size_t worst, ImageEvaluation& r) {
  ClassifierEngine classifier(model.config, engine.compute(), kBatch, false);
  classifier.set_weights(model.weights.span());
  SetResult set = evaluate_set(classifier, engine.compute().kernels(), images);
  if (!std::isfinite(set.loss))
    throw Error({.code = ErrorCode::numeric,
                 .what = "the loss is not a number: the weights overflow on these images",
                 .where = r.run,
                 .expected = "finite logits"});
  r.images = images.count();
  r.correct = set.correct;
  r.loss = set.loss;
  r.logits = std::move(set.logits);
  std::vector<size_t> predicted(r.images);
  for (size_t i = 0; i < r.images; i++) {
    const std::span<const float> row = std::as_const(r.logits).view().row(i);
    predicted[i] = static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  count_decisions(images, predicted, names, r);
  find_worst(images, predicted, set.losses, worst, r);
}

void write_worst_sheet(const Engine& engine, const std::string& path, const ImageEvaluation& r) {
  constexpr size_t kColumns = 10;
  Sheet sheet{.height = r.height, .width = r.width};
  for (size_t k = 0; k < r.worst.size(); k++) {
    const WorstImage& w = r.worst[k];
    if (k % kColumns == 0) sheet.rows.emplace_back();
    sheet.rows.back().push_back(
        {.pixels = w.pixels, .label = std::to_string(w.label) + " > " + std::to_string(w.predicted)});
  }
  write_sheet(engine.files(), path, sheet);
}

}  // namespace

std::string ImageEvaluation::class_text(size_t c) const {
  const std::string number = std::to_string(c);
  return classes[c].name == number ? number : number + " " + classes[c].name;
}

std::vector<Field> fields_of(EvaluationRequest& q) {
  std::vector<Field> source = fields_of(q.source);
  std::erase_if(source, [](const Field& f) { return f.name == "tokens" || f.name == "refine" || f.name == "expert"; });
  for (Field& f : source) {
    if (f.name == "data") f.own();
    if (f.name == "tokenizer") f.foreign();
    if (f.name == "text") f.help = "A text for a language model; stories are separated by <|endoftext|>";
  }
  return join(std::move(source),
              {Field("split", q.split, "Which images or stories").one_of({"test", "train"}).own(),
               Field("worst", q.worst, "How many of the images with the highest loss to show").range(0, 1000).images(),
               Field("sheet", q.sheet, "Write a .png picture of these images, with TRUE > PREDICTED below each")
                   .file()
                   .images(),
               Field("logits", q.logits, "Write the logits of all images to this .npy file, f32 [images, classes]")
                   .file()
                   .images()});
}

ImageEvaluation evaluate_images(const Engine& engine, const EvaluationRequest& q) {
  return evaluate_images(engine, *open_image_run(engine, q.source), q);
}

ImageEvaluation evaluate_images(const Engine& engine, ImageRun& run, const EvaluationRequest& q) {
  if (!q.sheet.empty() && q.worst == 0) bad_argument("worst", "the sheet has nothing to show", "1 or more");
  check_request(q, run);
  const ImageModel& model = run.model();
  const Dataset& data = run.images();
  if (!q.sheet.empty() && !data.train.pictures()) check_pictures(data, "a sheet");  // throws
  const ImageSet& images = q.split == "train" ? data.train : data.test;

  // The labels are those of the data; where the data have fewer classes the model names the rest.
  std::vector<std::string> names = data.class_names;
  for (size_t c = names.size(); c < model.config.classes; c++) names.push_back(model.class_names[c]);
  for (std::string& n : names) n = printable(n);

  ImageEvaluation r;
  r.run = run.directory();
  r.model = model.config;
  r.model_text = run.text();
  r.data = data.name, r.data_origin = data.origin, r.data_checksum = data.checksum;
  r.split = q.split;
  r.trained_on = model.data;
  r.precision = name(engine.precision());
  r.height = images.height, r.width = images.width;
  measure(engine, model, images, names, q.worst, r);
  if (!q.logits.empty()) write_npy(engine.files(), q.logits, std::as_const(r.logits).view());
  if (!q.sheet.empty()) write_worst_sheet(engine, q.sheet, r);
  r.logits_file = q.logits, r.sheet_file = q.sheet;
  return r;
}

OrderedJson to_json(const ImageEvaluation& r) {
  OrderedJson j = {{"schema", "glint-evaluate-images/1"}, {"run", r.run}};
  j["model"] = OrderedJson(config_to_json(r.model));
  j["data"] = {{"name", r.data},
               {"origin", r.data_origin},
               {"checksum", r.data_checksum},
               {"split", r.split},
               {"trained_on", r.trained_on}};
  j["precision"] = r.precision;
  j["images"] = r.images;
  j["correct"] = r.correct;
  j["loss"] = r.loss;
  j["accuracy"] = r.accuracy;
  j["accuracy_standard_error"] = r.standard_error;
  j["classes"] = OrderedJson::array();
  for (const ClassEvaluation& c : r.classes)
    j["classes"].push_back({{"name", c.name},
                            {"images", c.images},
                            {"predicted", c.predicted},
                            {"correct", c.correct},
                            {"recall", number_or_null(c.recall())},
                            {"precision", number_or_null(c.precision())}});
  j["confusion"] = OrderedJson::array();  // [true][predicted]
  for (size_t c = 0; c < r.classes.size(); c++) {
    const std::span<const uint32_t> row = r.confusion.view().row(c);
    j["confusion"].push_back(std::vector<uint32_t>(row.begin(), row.end()));
  }
  j["worst"] = OrderedJson::array();
  for (const WorstImage& w : r.worst)
    j["worst"].push_back({{"index", w.index},
                          {"label", w.label},
                          {"predicted", w.predicted},
                          {"probability", w.p_predicted},
                          {"probability_true", w.p_true},
                          {"loss", w.loss}});
  if (!r.sheet_file.empty()) j["sheet"] = r.sheet_file;
  if (!r.logits_file.empty()) j["logits"] = r.logits_file;
  return j;
}

}  // namespace glint
