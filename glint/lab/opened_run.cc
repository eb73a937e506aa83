#include "glint/lab/opened_run.h"

#include "glint/base/error.h"
#include "glint/lab/run_checks.h"
#include "glint/train/text_task.h"

namespace glint {

OpenedRun::OpenedRun(const Engine& engine, const ReadingOptions& options,
                     std::shared_ptr<const Dataset> data)
    : engine_(engine),
      run_(load_run(engine, options.run)),
      reading_(run_.model, engine.compute(), engine.linalg()),
      data_(std::move(data)) {
  const bool same = data_ && (options.data.empty() ? run_.model.data : options.data) == data_->name;
  if (same) return;
  DataOptions data_options;
  data_options.paths = data_paths_from_environment(options.data_dir);
  data_options.pool = &engine.pool();
  data_ = std::make_shared<Dataset>(load_run_data(engine, run_, options.data, data_options));
}

std::vector<std::string> OpenedRun::class_names() const {
  std::vector<std::string> names = run_.model.class_names;
  for (std::string& n : names) n = printable(n);
  return names;
}

std::string OpenedRun::class_text(size_t c) const {
  const std::string number = std::to_string(c), name = printable(run_.model.class_names[c]);
  return name == number ? number : number + " " + name;
}

StoredCalibration stored_or_measured(const Engine& engine, const RunInfo& run,
                                     const std::string& data_checksum, const std::vector<size_t>& hidden,
                                     const std::string& weights_hash,
                                     const std::function<StoredCalibration()>& measure) {
  const std::string path = run.directory + "/calibration.safetensors";
  if (exists(path)) {
    StoredCalibration stored = load_calibration(path, hidden);
    if (!stored.sealed)
      engine.note(path + " has no checksum: it was written by an earlier version");
    if (stored.model == weights_hash) return stored;
    engine.note("the calibration belongs to other weights and is measured anew");
  }
  StoredCalibration measured = measure();
  if (!run.data_checksum.empty() && run.data_checksum != data_checksum) {
    engine.note("the calibration is measured on other data than the run's and is not stored");
    return measured;
  }
  try {
    save_calibration(engine.files(), path, measured);
  } catch (const Error& e) {
    engine.note(std::string("the calibration could not be stored: ") + e.what());
  }
  return measured;
}

const StoredCalibration& OpenedRun::calibration() {
  if (!calibration_)
    calibration_ = std::make_unique<StoredCalibration>(stored_or_measured(
        engine_, run_, data_->checksum, std::vector<size_t>(reading_.layers(), run_.model.config.hidden()),
        reading_.weights_hash(), [&] { return reading_.calibrate(data_->train, data_->checksum); }));
  return *calibration_;
}

std::vector<GateLine> OpenedRun::lines(const std::string& form) {
  return form == "weights" ? weights_lines(reading_) : calibration().lines;
}

OpenedLanguageRun::OpenedLanguageRun(const Engine& engine,
                                     const std::string& directory, const std::string& data)
    : engine_(engine),
      run_(load_language_run(engine, directory)),
      reading_(run_.model, engine.compute(), engine.linalg()),
      data_(load_run_text(engine, run_, data)) {}

const StoredCalibration& OpenedLanguageRun::calibration() {
  if (!calibration_)
    calibration_ = std::make_unique<StoredCalibration>(stored_or_measured(
        engine_, run_, data_.checksum, std::vector<size_t>(reading_.layers(), run_.model.config.hidden()),
        reading_.weights_hash(), [&] {
          TextRows rows(run_.tokenizer.end(), run_.model.config.context);
          return reading_.calibrate(rows.fill_first(data_.train, LanguageReading::kCalibrationTokens),
                                    data_.checksum);
        }));
  return *calibration_;
}

std::vector<GateLine> OpenedLanguageRun::lines(const std::string& form) {
  if (form != "weights") return calibration().lines;
  std::vector<GateLine> lines;
  for (size_t i = 0; i < reading_.layers(); i++) lines.push_back(weights_form(reading_.layer(i)));
  return lines;
}

Matrix<float> OpenedLanguageRun::inputs(size_t layer, size_t tokens) const {
  TextRows rows(run_.tokenizer.end(), run_.model.config.context);
  return reading_.inputs(rows.fill_first(data_.valid, tokens), layer, tokens);
}

std::string OpenedLanguageRun::piece(TokenId token) const {
  std::string text = run_.tokenizer.piece(token);
  constexpr std::string_view kSpace = "\u2581";
  if (text.starts_with(kSpace)) text = "·" + text.substr(kSpace.size());
  return printable(text);
}

std::string figures_directory(const std::string& directory) {
  const std::string path = directory + "/figures";
  make_directory(directory);
  make_own_folder(path);
  return path;
}

}  // namespace glint
