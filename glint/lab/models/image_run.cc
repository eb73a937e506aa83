#include "glint/lab/models/image_run.h"

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/data/arrays.h"
#include "glint/lab/models/run_checks.h"
#include "glint/spectra/scaled.h"

namespace glint {
namespace {

// "28 x 28", or "vectors of 20 numbers".
std::string size_text(size_t height, size_t width, size_t inputs) {
  return height > 0 ? std::to_string(height) + " x " + std::to_string(width)
                    : "vectors of " + std::to_string(inputs) + " numbers";
}

}  // namespace

ImageRun::ImageRun(const Engine& engine, const RunSource& source, RunInfo info, ImageModel model,
                   std::shared_ptr<const Dataset> data)
    : Run(engine, source, std::move(info)),
      model_(std::move(model)),
      reading_(model_, engine.compute(), engine.linalg()) {
  refuse_expert(source.expert);
  if (source.refine) check_scaled_form(reading_.layer(reading_.last()));
  if (source.images) {
    check(*source.images);
    check_data(*source.images, source.images->name == model_.data);
    images_ = source.images;
  } else if (data && (source.data.empty() ? model_.data : source.data) == data->name) {
    images_ = std::move(data);
  }
}

std::string ImageRun::text() const {
  const ClassifierConfig& c = model_.config;
  std::string text = std::string(gate_info(c.gate.kind).text.name) + ", " + std::to_string(c.layers) +
                     (c.layers == 1 ? " layer" : " layers") + ", width " + std::to_string(c.d_model);
  if (c.hidden() != c.d_model) text += " and " + std::to_string(c.hidden());
  if (c.bias) text += ", bias";
  if (c.residual) text += ", residual";
  if (c.norm == Norm::rms) text += ", norm rms";
  return text + ", " + std::to_string(classifier_params(c).table.parameters()) + " parameters";
}

Json ImageRun::config() const { return config_to_json(model_.config); }

std::shared_ptr<const Dataset> ImageRun::share_images() {
  if (images_) return images_;
  const bool own = source_.data.empty();
  if (own && model_.data.empty())
    bad_argument(directory() + "/config.json", "the run does not say what data it was trained on",
                 "`data` with a data set or a folder");
  if (own && info_.run.is_object() && info_.run.contains("data") &&
      info_.run["data"].value("origin", "") == kFromMemory)
    bad_argument("data", "the run was trained on arrays in memory, of which it keeps no copy",
                 "the same images and labels: the arrays, or a folder with them",
                 "`spectrum(RUN, form=weights)` needs none");
  DataOptions options;
  options.paths = data_paths_from_environment(source_.data_dir);
  options.pool = &engine_.pool();
  Dataset data;
  try {
    data = load_dataset(own ? model_.data : source_.data, options);
  } catch (const Error& e) {
    if (!own || e.code() == ErrorCode::interrupted) throw;
    ErrorParts parts = e.parts();
    parts.what += " (the run was trained on it)";
    parts.hint += (parts.hint.empty() ? "" : ", or ") + std::string("`data` with a data set or a folder");
    throw Error(parts);
  }
  check_data(data, own);
  images_ = std::make_shared<Dataset>(std::move(data));
  return images_;
}

void ImageRun::check_data(const Dataset& data, bool own) const {
  const ClassifierConfig& c = model_.config;
  const ImageSet& set = data.train;
  if (set.height != model_.height || set.width != model_.width || set.inputs() != c.inputs)
    bad_file(data.origin,
             "the images of " + data.name + " do not fit the model: they are " +
                 size_text(set.height, set.width, set.inputs()),
             size_text(model_.height, model_.width, c.inputs) + ", as in " + directory());
  if (set.classes > c.classes)
    bad_file(data.origin, data.name + " has " + std::to_string(set.classes) + " classes, more than the model",
             "labels from 0 to " + std::to_string(c.classes - 1) + ", as in " + directory());
  if (set.classes < c.classes)
    engine_.note(data.name + " has " + std::to_string(set.classes) + " classes, the model " +
                 std::to_string(c.classes));
  if (own && !info_.data_checksum.empty() && info_.data_checksum != data.checksum)
    engine_.note(data.name + " is not what it was when the run was trained (other checksum)");
}

Activations ImageRun::measured(size_t layer) { return reading_.run(images().test, layer); }

Activations ImageRun::fitted(size_t layer) {
  const ImageSet& train = images().train;
  return reading_.run(train, layer, evenly_spaced(train.count(), kFitted));
}

std::vector<GateTerms> ImageRun::lines(Form form) {
  return form == Form::scaled && source_.refine ? calibration().refined : Run::lines(form);
}

StoredCalibration ImageRun::measure_calibration() { return reading_.calibrate(images().train, images().checksum); }

bool ImageRun::complete(StoredCalibration& calibration) {
  if (!source_.refine || !calibration.refined.empty()) return false;
  calibration.refined = reading_.refined_lines(images().train, calibration.terms[Form::scaled]);
  return true;
}

std::unique_ptr<Run> ImageRun::make_untrained() {
  constexpr uint64_t kSeed = 0;
  const std::shared_ptr<const Dataset> data = share_images();
  ImageModel fresh = model_;
  classifier_params(fresh.config).table.initialise(fresh.weights.span(), kSeed);
  RunSource source = source_;
  source.images = nullptr, source.data = data->name;
  auto twin = std::make_unique<ImageRun>(engine_, source, info_, std::move(fresh), data);
  const ImageSet some = data->train.rows(evenly_spaced(data->train.count(), kTwinSamples));
  StoredCalibration lines = twin->reading_.calibrate(some, data->checksum);
  if (source_.refine) lines.refined = twin->reading_.refined_lines(some, lines.terms[Form::scaled]);
  twin->calibration_ = std::make_unique<StoredCalibration>(std::move(lines));
  return twin;
}

std::unique_ptr<Run> ImageRun::again(const Engine& engine, const RunSource& source) const {
  return std::make_unique<ImageRun>(engine, source, info_, model_, images_);
}

std::vector<std::string> ImageRun::class_names() const {
  std::vector<std::string> names = model_.class_names;
  for (std::string& n : names) n = printable(n);
  return names;
}

std::string ImageRun::class_text(size_t c) const {
  const std::string number = std::to_string(c), name = printable(model_.class_names[c]);
  return name == number ? number : number + " " + name;
}

}  // namespace glint
