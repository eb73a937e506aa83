#include "glint/lab/run.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/data/arrays.h"
#include "glint/lab/model_info.h"
#include "glint/lab/read_directions.h"
#include "glint/lab/reading_text.h"
#include "glint/lab/run_checks.h"
#include "glint/spectra/bootstrap.h"
#include "glint/spectra/family_reading.h"
#include "glint/spectra/language_reading.h"
#include "glint/spectra/scaled.h"

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
// `complete` adds what is still missing, and says whether that was anything. There is a note when the stored
// one was computed by other linear algebra than the engine's.
StoredCalibration stored_or_measured(const Engine& engine, const RunInfo& run,
                                     const std::string& data_checksum, const std::vector<size_t>& hidden,
                                     const std::string& weights_hash,
                                     const std::function<StoredCalibration()>& measure,
                                     const std::function<bool(StoredCalibration&)>& complete) {
  const std::string path = run.directory + "/calibration.safetensors";
  if (exists(path)) {
    StoredCalibration stored = load_calibration(path, hidden);
    if (stored.model == weights_hash) {
      if (stored.linalg != engine.linalg().description())
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

ModelKind run_kind(const std::string& path) {
  return is_foreign(path) ? ModelKind::language : model_kind(open_run(path).directory);
}

Run::Run(const Engine& engine, const RunSource& source, std::shared_ptr<const Dataset> data)
    : engine_(engine), source_(source) {
  const bool foreign = is_foreign(source.run);
  if (!foreign) refuse_tokenizer(source.tokenizer);
  if (!foreign && !source.expert.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "a run of glint has no experts",
                 .where = "expert",
                 .expected = "a mixture of experts"});
  if (run_kind(source.run) == ModelKind::language) {
    if (source.refine)
      throw Error({.code = ErrorCode::usage,
                   .what = "there is nothing to refine: a layer of a language model has no logits of its own",
                   .where = "refine",
                   .expected = "an image model"});
    if (foreign) {
      foreign_.reset(new ForeignRun{RunInfo(), open_foreign(source.run, source.tokenizer, false)});
      foreign_->directory = foreign_->model.path;
      reading_ = std::make_unique<FamilyReading>(foreign_->model.model, engine.compute(), engine.linalg(),
                                                 source.expert);
      return;
    }
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

const RunInfo& Run::info() const {
  if (image_) return *image_;
  return foreign_ ? static_cast<const RunInfo&>(*foreign_) : *language_;
}

std::string Run::results() const { return foreign_ ? reading_folder(directory()) : directory(); }

std::string Run::text() const {
  if (foreign_) return foreign_->model.model.text();
  return image_ ? model_text(image_->model) : model_text(language_->model);
}

Json Run::config() const {
  if (foreign_) return family_json(foreign_->model.model);
  return image_ ? config_to_json(image_->model.config) : config_to_json(language_->model.config);
}

GateKind Run::gate() const {
  if (foreign_) return foreign_->model.model.config().gate.kind;
  return image_ ? image_->model.config.gate.kind : language_->model.config.gate.kind;
}

const std::string& Run::trained_on() const {
  if (foreign_) return foreign_->trained_on;
  return image_ ? image_->model.data : language_->model.data;
}

const LoadedRun& Run::image() const {
  if (!image_) refuse_language(directory());
  return *image_;
}

const LanguageRun& Run::language() const {
  if (foreign_) refuse_foreign(directory(), "this");
  if (!language_) refuse_image(directory());
  return *language_;
}

const ForeignRun& Run::foreign_run() const {
  if (!foreign_)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "this is a run of glint",
                 .where = directory(),
                 .expected = "a model of another program"});
  return *foreign_;
}

const ImageReading& Run::image_reading() const {
  image();
  return static_cast<const ImageReading&>(*reading_);
}

const TokenModel& Run::token_model() const {
  if (image_) refuse_image(directory());
  return static_cast<const TokenModel&>(*reading_);
}

const Tokenizer& Run::tokenizer() const {
  if (!foreign_) return language().tokenizer;
  if (mixture() && source_.expert.empty() && !has_tokenizer()) refuse_mixture(directory());
  need_tokenizer(foreign_->model);
  return foreign_->model.tokenizer;
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

bool Run::own_text() const {
  std::error_code ignored;
  return foreign_ || std::filesystem::is_regular_file(source_.data, ignored);
}

const TextData& Run::stories() {
  if (stories_) return *stories_;
  const TokenModel& model = token_model();
  stories_ = std::make_unique<TextData>(
      own_text() ? reading_text(engine_, source_.data, tokenizer(), tokens(), model.context())
                 : load_run_text(engine_, language(), source_.data));
  return *stories_;
}

std::string Run::samples() const {
  if (!own_text()) return "validation stories";
  return source_.data.empty() || source_.data == kTales ? "the built-in tales" : printable(source_.data);
}

TextRows Run::rows() const {
  const size_t context = token_model().context();
  return foreign_ ? TextRows(tokenizer().prefix(), context) : TextRows(tokenizer().end(), context);
}

size_t Run::tokens() const {
  if (source_.tokens) return source_.tokens;
  if (!foreign_) return TokenModel::kFidelityTokens;
  constexpr double kMost = 4000, kFewest = 500, kLarge = 1e8;  // the last: parameters
  const auto parameters = static_cast<double>(foreign_->model.model.parameters());
  return static_cast<size_t>(std::clamp(kMost * kLarge / parameters, kFewest, kMost));
}

const std::string& Run::data_name() { return image_ ? images().name : stories().name; }

const std::string& Run::data_checksum() { return image_ ? images().checksum : stories().checksum; }

Activations Run::measured(size_t layer) {
  if (image_) return image_reading().run(images().test, layer);
  TextRows all = rows();
  const std::span<const TokenRow> some = all.fill_first(stories().valid, tokens());
  Activations a;
  a.inputs = token_model().inputs(some, layer, tokens());
  a.blocks = token_blocks(some, tokens());
  return a;
}

const TokenModel::Lines& Run::foreign_lines(size_t layer) {
  if (const auto it = foreign_lines_.find(layer); it != foreign_lines_.end()) return it->second;
  TextRows all = rows();
  const Matrix<float> x = token_model().inputs(all.fill_first(stories().train, tokens()), layer, tokens());
  return foreign_lines_.emplace(layer, token_model().layer_lines(layer, x)).first->second;
}

const StoredCalibration& Run::calibration() {
  if (calibration_) return *calibration_;
  if (foreign_) {
    StoredCalibration all{
        .model = reading_->weights_hash(), .data = data_checksum(), .lines = {}, .kinds = {}};
    all.linalg = engine_.linalg().description();
    for (size_t i = 0; i < reading_->layers(); i++) {
      const TokenModel::Lines& lines = foreign_lines(i);
      all.inputs = lines.inputs;
      all.lines.push_back(lines.calibrated), all.kinds.push_back(Calibration::affine);
      if (has_scaled()) all.scaled.push_back(lines.scaled);
    }
    calibration_ = std::make_unique<StoredCalibration>(std::move(all));
    return *calibration_;
  }
  std::vector<size_t> hidden;
  for (size_t i = 0; i < reading_->layers(); i++) hidden.push_back(reading_->layer(i).hidden());
  const std::string& checksum = data_checksum();
  const auto with_rows = [&](const auto& body) {
    TextRows all = rows();
    return body(all.fill_first(stories().train, TokenModel::kCalibrationTokens));
  };
  const auto measure = [&] {
    if (image_) return image_reading().calibrate(images().train, checksum);
    return with_rows([&](const auto& rows) { return token_model().calibrate(rows, checksum); });
  };
  const auto complete = [&](StoredCalibration& stored) {
    bool added = false;
    if (stored.scaled.empty() && has_scaled()) {
      stored.scaled = image_ ? image_reading().scaled_lines(images().train)
                             : with_rows([&](const auto& rows) { return token_model().scaled_lines(rows); });
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

Run::CalibrationInfo Run::calibration_info(size_t layer) {
  if (foreign_) return {Calibration::affine, foreign_lines(layer).inputs};
  return {calibration().kinds[layer], calibration().inputs};
}

bool Run::has_scaled() const {
  // The layers of a model of another program are large: none is made for this.
  if (foreign_)
    return static_cast<const FamilyReading&>(*reading_).normed(reading_->last()) ||
           gate_info(gate()).text.parity == Parity::odd;
  return has_scaled_form(reading_->layer(reading_->last()));
}

std::string Run::unmeasured() {
  if (mixture()) return "a mixture of experts is not run";
  if (!source_.data.empty()) return "";
  try {
    data_name();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::interrupted) throw;
    return e.parts().what;
  }
  return "";
}

std::string Run::form(const std::string& asked) {
  if (asked == "scaled") check_form_name(asked);
  if (asked != "auto") return asked;
  if (!unmeasured().empty()) return "weights";
  return gate_info(gate()).text.parity == Parity::odd ? "scaled" : "calibrated";
}

std::vector<std::string> Run::forms() const {
  return has_scaled() ? std::vector<std::string>{"weights", "scaled", "calibrated"}
                      : std::vector<std::string>{"weights", "calibrated"};
}

void Run::check_form_name(const std::string& form) const {
  if (form != "weights" && form != "scaled" && form != "calibrated")
    throw Error({.code = ErrorCode::usage,
                 .what = "unknown form '" + form + "'",
                 .where = "form",
                 .expected = suggest(form, {"weights", "scaled", "calibrated"})});
  if (form == "scaled" && !has_scaled()) check_scaled_form(reading_->layer(reading_->last()));  // throws
}

std::vector<GateLine> Run::lines(const std::string& form) {
  check_form_name(form);
  if (form == "weights") return weights_lines(*reading_);
  if (form == "calibrated") return calibration().lines;
  return source_.refine ? calibration().refined : calibration().scaled;
}

GateLine Run::line(const std::string& form, size_t layer) {
  check_form_name(form);
  if (form == "weights") return weights_form(reading_->layer(layer));
  if (!foreign_) return lines(form)[layer];
  return form == "scaled" ? foreign_lines(layer).scaled : foreign_lines(layer).calibrated;
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

std::string Run::piece(TokenId token) const { return piece_text(tokenizer(), token); }

Matrix<float> Run::inputs(size_t layer, size_t tokens) {
  TextRows all = rows();
  return token_model().inputs(all.fill_first(stories().valid, tokens), layer, tokens);
}

}  // namespace glint
