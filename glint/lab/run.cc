#include "glint/lab/run.h"

#include "glint/base/error.h"
#include "glint/data/arrays.h"
#include "glint/lab/read_directions.h"
#include "glint/lab/run_checks.h"
#include "glint/spectra/scaled.h"
#include "glint/train/text_task.h"

namespace glint {
namespace {

// Stores a calibration beside the run when `data_checksum` is the data that the run was trained on; a note
// when it is not, and when the file cannot be written.
void keep(const Engine& engine, const RunInfo& run, const std::string& data_checksum, const std::string& path,
          const StoredCalibration& calibration) {
  if (!run.data_checksum.empty() && run.data_checksum != data_checksum) {
    engine.note("the calibration is measured on other data than the run's and is not stored");
    return;
  }
  try {
    save_calibration(engine.files(), path, calibration);
  } catch (const Error& e) {
    engine.note(std::string("the calibration could not be stored: ") + e.what());
  }
}

// The calibration stored in a run directory when it is that of the weights, else what `measure` gives.
// `complete` adds what is still missing, and says whether that was anything. A note when
// other linear algebra than the engine's computed the stored one.
StoredCalibration stored_or_measured(const Engine& engine, const RunInfo& run,
                                     const std::string& data_checksum, const std::vector<size_t>& hidden,
                                     const std::string& weights_hash,
                                     const std::function<StoredCalibration()>& measure,
                                     const std::function<bool(StoredCalibration&)>& complete) {
  const std::string path = run.directory + "/calibration.safetensors";
  if (exists(path)) {
    StoredCalibration stored = load_calibration(path, hidden);
    if (!stored.sealed) engine.note(path + " has no checksum: it was written by an earlier version");
    if (stored.model == weights_hash) {
      if (!stored.linalg.empty() && stored.linalg != engine.linalg().description())
        engine.note("the stored calibration was computed with " + printable(stored.linalg) + ", this with " +
                    engine.linalg().description() + ": last digits differ from a calibration made anew");
      if (complete(stored)) keep(engine, run, data_checksum, path, stored);
      return stored;
    }
    engine.note("the calibration belongs to other weights and is measured anew");
  }
  StoredCalibration measured = measure();
  complete(measured);
  keep(engine, run, data_checksum, path, measured);
  return measured;
}

}  // namespace

Run::Run(const Engine& engine, const RunSource& source, std::shared_ptr<const Dataset> data)
    : engine_(engine), source_(source) {
  if (model_kind(open_run(source.run).directory) == ModelKind::language) {
    if (source.refine)
      throw Error({.code = ErrorCode::usage,
                   .what = "there is nothing to refine: a layer of a language model has no logits of its own",
                   .where = "refine",
                   .expected = "an image model"});
    language_ = std::make_unique<LanguageRun>(load_language_run(engine, source.run));
    reading_ = std::make_unique<LanguageReading>(language_->model, engine.compute(), engine.linalg());
    return;
  }
  image_ = std::make_unique<LoadedRun>(load_run(engine, source.run));
  reading_ = std::make_unique<ImageReading>(image_->model, engine.compute(), engine.linalg());
  if (source.refine) check_scaled_form(reading_->layer(reading_->last()));
  if (source.images) {
    check(*source.images);
    check_run_data(engine, *image_, *source.images, source.images->name == image_->model.data);
    images_ = source.images;
  } else if (data && (source.data.empty() ? image_->model.data : source.data) == data->name) {
    images_ = std::move(data);
  }
}

const RunInfo& Run::info() const { return image_ ? static_cast<const RunInfo&>(*image_) : *language_; }

std::string Run::text() const { return image_ ? model_text(image_->model) : model_text(language_->model); }

Json Run::config() const {
  return image_ ? config_to_json(image_->model.config) : config_to_json(language_->model.config);
}

GateKind Run::gate() const {
  return image_ ? image_->model.config.gate.kind : language_->model.config.gate.kind;
}

const std::string& Run::trained_on() const { return image_ ? image_->model.data : language_->model.data; }

const LoadedRun& Run::image() const {
  if (!image_) check_image_run(info());  // throws
  return *image_;
}

const LanguageRun& Run::language() const {
  if (!language_)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "this is an image model, not a language model",
                 .where = directory(),
                 .expected = "a run that was trained on stories"});
  return *language_;
}

const ImageReading& Run::image_reading() const {
  image();
  return static_cast<const ImageReading&>(*reading_);
}

const LanguageReading& Run::language_reading() const {
  language();
  return static_cast<const LanguageReading&>(*reading_);
}

std::shared_ptr<const Dataset> Run::share_images() {
  const LoadedRun& run = image();
  if (!images_) {
    DataOptions options;
    options.paths = data_paths_from_environment(source_.data_dir);
    options.pool = &engine_.pool();
    images_ = std::make_shared<Dataset>(load_run_data(engine_, run, source_.data, options));
  }
  return images_;
}

const Dataset& Run::images() { return *share_images(); }

const TextData& Run::stories() {
  const LanguageRun& run = language();
  if (!stories_) stories_ = std::make_unique<TextData>(load_run_text(engine_, run, source_.data));
  return *stories_;
}

const std::string& Run::data_name() { return image_ ? images().name : stories().name; }

const std::string& Run::data_checksum() { return image_ ? images().checksum : stories().checksum; }

Activations Run::measured(size_t layer) {
  if (image_) return image_reading().run(images().test, layer);
  Activations a;
  a.inputs = inputs(layer, LanguageReading::kFidelityTokens);
  return a;
}

const StoredCalibration& Run::calibration() {
  if (calibration_) return *calibration_;
  std::vector<size_t> hidden;
  for (size_t i = 0; i < reading_->layers(); i++) hidden.push_back(reading_->layer(i).hidden());
  const std::string& checksum = data_checksum();
  const auto with_rows = [&](const auto& body) {
    TextRows rows(language_->tokenizer.end(), language_->model.config.context);
    return body(rows.fill_first(stories().train, LanguageReading::kCalibrationTokens));
  };
  const auto measure = [&] {
    if (image_) return image_reading().calibrate(images().train, checksum);
    return with_rows([&](const auto& rows) { return language_reading().calibrate(rows, checksum); });
  };
  const auto complete = [&](StoredCalibration& stored) {
    bool added = false;
    if (stored.scaled.empty() && has_scaled()) {
      stored.scaled =
          image_ ? image_reading().scaled_lines(images().train)
                 : with_rows([&](const auto& rows) { return language_reading().scaled_lines(rows); });
      added = true;
    }
    if (stored.refined.empty() && source_.refine) {
      stored.refined = image_reading().refined_lines(images().train, stored.scaled);
      added = true;
    }
    return added;
  };
  calibration_ = std::make_unique<StoredCalibration>(
      stored_or_measured(engine_, info(), checksum, hidden, reading_->weights_hash(), measure, complete));
  return *calibration_;
}

bool Run::has_scaled() const { return has_scaled_form(reading_->layer(reading_->last())); }

std::string Run::form(const std::string& asked) {
  if (asked == "scaled") check_scaled_form(reading_->layer(reading_->last()));
  if (asked != "auto") return asked;
  if (source_.data.empty()) {
    try {
      data_name();
    } catch (const Error&) {
      return "weights";
    }
  }
  return gate_info(gate()).text.parity == Parity::odd ? "scaled" : "calibrated";
}

std::vector<std::string> Run::forms() const {
  return has_scaled() ? std::vector<std::string>{"weights", "scaled", "calibrated"}
                      : std::vector<std::string>{"weights", "calibrated"};
}

std::vector<GateLine> Run::lines(const std::string& form) {
  if (form == "weights") return weights_lines(*reading_);
  if (form == "calibrated") return calibration().lines;
  if (form != "scaled")
    throw Error({.code = ErrorCode::usage,
                 .what = "unknown form '" + form + "'",
                 .where = "form",
                 .expected = suggest(form, {"weights", "scaled", "calibrated"})});
  check_scaled_form(reading_->layer(reading_->last()));
  return source_.refine ? calibration().refined : calibration().scaled;
}

std::vector<std::string> Run::class_names() const {
  std::vector<std::string> names = image().model.class_names;
  for (std::string& n : names) n = printable(n);
  return names;
}

std::string Run::class_text(size_t c) const {
  const std::string number = std::to_string(c), name = printable(image().model.class_names[c]);
  return name == number ? number : number + " " + name;
}

std::string Run::piece(TokenId token) const { return piece_text(language().tokenizer, token); }

Matrix<float> Run::inputs(size_t layer, size_t tokens) {
  TextRows rows(language().tokenizer.end(), language().model.config.context);
  return language_reading().inputs(rows.fill_first(stories().valid, tokens), layer, tokens);
}

}  // namespace glint
