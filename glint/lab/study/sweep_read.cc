#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/io/seal.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/study/readability.h"
#include "glint/lab/study/sweep_parts.h"
#include "glint/train/run_file.h"

namespace glint {
namespace {

// Grows when runs are read in another way or for more.
constexpr const char* kSchema = "glint-sweep-reading/4";
constexpr const char* kSeedsSchema = "glint-sweep-seeds/1";
constexpr size_t kShown = 2;          // eigenvectors of each sign and class
constexpr double kPixelScale = 1000;  // pixels are kept as whole numbers from -1000 to 1000
constexpr size_t kMaxBytes = size_t{1} << 28;

FeatureGrid pictures_of(const ReadResult& r) {
  FeatureGrid grid{.title = "", .note = "", .size = r.size, .rows = {}};
  const auto side = [](const std::vector<ShownVector>& vectors) {
    std::vector<SignedPicture> out;
    for (const ShownVector& v : vectors) out.push_back({v.value, v.pixels});
    return out;
  };
  if (r.size.empty()) return grid;
  for (const ReadDirection& d : r.directions)
    grid.rows.push_back(
        {printable(d.name), "R\u00b2 " + fixed_text(d.trust->r2, 3), side(d.positive), side(d.negative)});
  return grid;
}

// The data that a run is measured on: a folder, or "" for what it was trained on.
std::string data_of(const SweepPlan& plan) {
  const std::string& set = plan.settings.front().options.data;
  return set.find('/') == set.npos ? "" : set;
}

ReadabilityRequest readability_request(const SweepPlan& plan, const std::vector<std::string>& runs,
                                       const std::string& form) {
  ReadabilityRequest q;
  q.runs = runs, q.source.data = data_of(plan), q.source.data_dir = plan.data_dir, q.form = form;
  return q;
}

SweepReading read_images_of(const Engine& engine, TrainingData& data, const SweepPlan& plan,
                            const std::string& directory) {
  const auto run = open_image_run(engine, {.run = directory, .data = data_of(plan)},
                                  data.images(plan.settings.front().options.data));
  ReadRequest request;
  request.form = name(Form::weights), request.show = kShown;
  request.spectra = request.figures = false;
  const ReadResult r = read(engine, *run, request);
  SweepReading out;
  for (const ReadForm& form : r.forms) {
    out.values["agreement_" + name(form.form)] = form.fidelity.agreement;
    out.values["accuracy_" + name(form.form)] = form.fidelity.accuracy_form;
    out.values["r2_" + name(form.form)] = form.fidelity.r2;
  }
  out.values["even_share"] = r.forms.front().fidelity.even_share;
  out.values["linear_agreement"] = r.controls.linear.agreement;
  out.values["linear_r2"] = r.controls.linear.r2;
  if (const auto control = r.controls.untrained.find(Form::weights); control != r.controls.untrained.end())
    out.values["untrained_agreement"] = control->second.agreement;
  out.pictures = pictures_of(r);
  return out;
}

// R2 of what a layer adds to the residual stream, mean over the layers.
SweepReading read_language_of(const Engine& engine, const SweepPlan& plan, const std::string& directory) {
  const auto opened = open_language_run(engine, {.run = directory, .data = data_of(plan)});
  LanguageRun& run = *opened;
  const size_t layers = run.reading().layers();
  SweepReading out;
  for (size_t i = 0; i < layers; i++) {
    const Matrix<float> x = run.measured(i).inputs;
    for (const Form form : run.forms()) {
      const Fidelity f = run.reading().layer_fidelity(i, run.line(form, i), x);
      out.values["r2_" + name(form)] += f.r2 / static_cast<double>(layers);
      out.values["correlation_" + name(form)] += f.correlation / static_cast<double>(layers);
      if (form == run.forms().front()) out.values["even_share"] += f.even_share / static_cast<double>(layers);
    }
    const Controls controls = layer_controls(run, i, {Form::weights});
    out.values["linear_r2"] += controls.linear.r2 / static_cast<double>(layers);
    out.values["untrained_correlation"] +=
        controls.untrained.at(Form::weights).correlation / static_cast<double>(layers);
  }
  return out;
}

// Of the form of the weights, whose pictures are shown; the halves are those of the form that is fitted.
void add_readability(const Engine& engine, const SweepPlan& plan, const std::string& directory, SweepReading& out) {
  const ReadabilityResult result = readability(engine, readability_request(plan, {directory}, name(Form::weights)));
  const RunReadability& r = result.runs.front();
  if (r.distinct_pictures) out.values["distinct_pictures"] = *r.distinct_pictures;
  if (r.auc) out.values["auc"] = *r.auc;
  out.values["ablation_r"] = r.ablation_r;
  out.values["ablation_slope"] = r.ablation_slope;
  if (const auto alike = half_stability(engine, readability_request(plan, {directory}, "auto")))
    out.values["stability_halves"] = *alike;
}

// The text of a sealed file of this schema; false when there is nothing that can be trusted.
bool sealed_file(const std::string& file, const char* schema, Json& out) {
  if (!exists(file)) return false;
  std::string text = read_file(file, kMaxBytes);
  out = parse_json(text, file);
  if (text.ends_with('\n')) text.pop_back();
  return out.is_object() && is_sealed(text, out) && JsonFields(out, file).required<std::string>("schema") == schema;
}

Json side_json(const std::vector<SignedPicture>& pictures) {
  Json out = Json::array();
  for (const SignedPicture& p : pictures) {
    double largest = 0;
    for (const double v : p.pixels) largest = std::max(largest, std::fabs(v));
    Json pixels = Json::array();
    for (const double v : p.pixels) pixels.push_back(largest > 0 ? std::lround(kPixelScale * v / largest) : 0);
    out.push_back({{"value", p.value}, {"pixels", std::move(pixels)}});
  }
  return out;
}

Json to_json(const SweepReading& reading, const std::string& weights, bool pictures) {
  Json j = {{"schema", kSchema}, {"weights", weights}, {"values", reading.values}};
  if (!pictures) return j;
  j["pictures"] = {{"height", reading.pictures.size.height}, {"width", reading.pictures.size.width}};
  j["pictures"]["rows"] = Json::array();
  for (const FeatureRow& row : reading.pictures.rows)
    j["pictures"]["rows"].push_back({{"name", row.name},
                                     {"note", row.note},
                                     {"positive", side_json(row.positive)},
                                     {"negative", side_json(row.negative)}});
  return j;
}

std::vector<SignedPicture> side_from(const JsonFields& row, const std::string& key, const std::string& file,
                                     PictureSize size) {
  std::vector<SignedPicture> out;
  for (const Json& item : row.array(key)) {
    const JsonFields fields(item, file, key);
    SignedPicture p{.value = fields.required<double>("value"), .pixels = {}};
    for (const Json& v : fields.array("pixels")) {
      if (!v.is_number()) fields.fail("pixels", "is not a list of numbers", "numbers");
      p.pixels.push_back(v.get<double>() / kPixelScale);
    }
    if (p.pixels.size() != size.height * size.width)
      fields.fail("pixels", "has another length", std::to_string(size.height * size.width));
    out.push_back(std::move(p));
  }
  return out;
}

// What an earlier call measured of these weights; false when there is nothing that can be trusted.
bool stored(const std::string& file, const std::string& weights, bool pictures, SweepReading& out) {
  try {
    Json j;
    if (!sealed_file(file, kSchema, j)) return false;
    const JsonFields fields(j, file);
    if (fields.required<std::string>("weights") != weights || (pictures && !fields.has("pictures"))) return false;
    fields.object("values");
    for (const auto& [key, value] : j["values"].items())
      out.values[key] = fields.object("values").required<double>(key);
    if (!pictures) return true;
    const JsonFields grid = fields.object("pictures");
    out.pictures.size = {grid.required<uint64_t>("height"), grid.required<uint64_t>("width")};
    for (const Json& item : grid.array("rows")) {
      const JsonFields row(item, file, "pictures.rows");
      out.pictures.rows.push_back({row.required<std::string>("name"), row.required<std::string>("note"),
                                   side_from(row, "positive", file, out.pictures.size),
                                   side_from(row, "negative", file, out.pictures.size)});
    }
    return true;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_file) throw;
    out = {};
    return false;  // damaged: it is made anew
  }
}

// The checksum of a run's weights; "" when it has none.
std::string weights_of(const std::string& directory) {
  const Json run = read_run_file(directory).json;
  return run.contains("files") ? run["files"].value(kWeightsFile, "") : "";
}

}  // namespace

std::vector<std::optional<double>> read_seed_stability(const Engine& engine, const SweepPlan& plan,
                                                       const std::vector<std::string>& directories,
                                                       const std::string& file) {
  std::vector<std::string> weights;
  for (const std::string& d : directories) weights.push_back(weights_of(d));
  std::vector<std::optional<double>> out;
  try {
    Json j;
    if (sealed_file(file, kSeedsSchema, j) && j.contains("weights") && j["weights"] == Json(weights)) {
      for (const Json& v : JsonFields(j, file).array("alike"))
        out.push_back(v.is_number() ? std::optional(v.get<double>()) : std::nullopt);
      if (out.size() == directories.size()) return out;
    }
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_file) throw;  // damaged: it is made anew
  }
  out = seed_stability(engine, readability_request(plan, directories, name(Form::weights)));
  Json alike = Json::array();
  for (const std::optional<double>& v : out) alike.push_back(v ? Json(*v) : Json());
  const Json j = {{"schema", kSeedsSchema}, {"weights", weights}, {"alike", alike}};
  write_atomic(engine.files(), file, sealed_text(j) + "\n");
  return out;
}

SweepReading read_swept_run(const Engine& engine, TrainingData& data, const SweepPlan& plan,
                            const std::string& directory, const std::string& file, bool pictures) {
  const std::string weights = weights_of(directory);
  SweepReading out;
  if (weights.empty() || !stored(file, weights, pictures, out)) {
    out = plan.text ? read_language_of(engine, plan, directory) : read_images_of(engine, data, plan, directory);
    add_readability(engine, plan, directory, out);
    write_atomic(engine.files(), file, sealed_text(to_json(out, weights, pictures)) + "\n");
    SweepReading again;  // as a later call will find it: numbers of pictures are rounded there
    if (stored(file, weights, pictures, again)) out = std::move(again);
  }
  const RunSummary summary = summarize_run(directory, true);
  out.values["test_loss"] = summary.test_loss;
  if (!plan.text) out.values["test_accuracy"] = summary.test_accuracy;
  out.values["seconds"] = summary.seconds;
  return out;
}

std::vector<SweepMeasure> sweep_measures(bool text) {
  std::vector<SweepMeasure> all;
  const std::string loss = text ? "validation loss" : "test loss";
  all.push_back({.key = "test_loss", .title = loss, .head = loss, .decimals = 4, .lower_is_better = true});
  if (!text)
    all.push_back(
        {.key = "test_accuracy", .title = "test accuracy %", .head = "accuracy %", .factor = 100, .decimals = 2});
  for (const FormInfo& f : kFormTable) {
    if (f.needs == FormNeeds::input) continue;
    const std::string form = name(f.form);
    if (!text)
      all.push_back({.key = "agreement_" + form,
                     .title = "agreement of the " + form + " form %",
                     .head = form + " %",
                     .factor = 100,
                     .decimals = 1});
    all.push_back(
        {.key = "r2_" + form, .title = "R\u00b2 of the " + form + " form", .head = form + " R2", .in_table = text});
    if (text)
      all.push_back({.key = "correlation_" + form,
                     .title = "correlation of the " + form + " form",
                     .head = form + " correlation",
                     .in_table = f.form == Form::weights});
    else
      all.push_back({.key = "accuracy_" + form,
                     .title = "accuracy of the " + form + " form %",
                     .head = form + " accuracy %",
                     .factor = 100,
                     .decimals = 2,
                     .in_table = false});
  }
  const auto add = [&](const char* key, const char* title, const char* head, double factor, int decimals, bool shown) {
    all.push_back(
        {.key = key, .title = title, .head = head, .factor = factor, .decimals = decimals, .in_table = shown});
  };
  if (!text) {
    add("linear_agreement", "control: agreement of the best linear map %", "linear %", 100, 1, true);
    add("untrained_agreement", "control: agreement of the weights form of an untrained model %", "untrained %", 100, 1,
        true);
  } else {
    add("untrained_correlation", "control: correlation of the weights form of an untrained model",
        "untrained correlation", 1, 3, true);
  }
  add("linear_r2", "control: R\u00b2 of the best linear map", "linear R2", 1, 3, text);
  add("even_share", "even share", "even share", 1, 3, false);
  add("distinct_pictures", "distinct pictures", "pictures", 1, 1, true);
  add("auc", "AUC of the leading eigenvectors", "AUC", 1, 3, true);
  add("ablation_r", "ablation: correlation of true and predicted change", "ablation r", 1, 2, true);
  add("ablation_slope", "ablation: slope of true against predicted change", "slope", 1, 2, true);
  add("stability_seeds", "leading eigenvectors of the weights form, |cos| between seeds", "seeds |cos|", 1, 3, true);
  all.back().spread_from = 3;  // of two seeds there is one pair
  add("stability_halves", "leading eigenvectors of the fitted form, |cos| between halves of the data", "halves |cos|",
      1, 3, true);
  all.push_back({.key = "seconds",
                 .title = "training time in seconds",
                 .head = "time s",
                 .decimals = 1,
                 .lower_is_better = true});
  return all;
}

}  // namespace glint
