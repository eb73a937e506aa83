#include "glint/cli/opened_run.h"

#include "glint/base/error.h"
#include "glint/cli/run_checks.h"

namespace glint::cli {

void add_reading_options(Verb& verb, ReadingOptions& options) {
  verb.positional("RUN", options.run, "the run directory",
                  {.placeholder = "DIR", .kind = Value::Kind::directory})
      ->required();
  verb.text("--data", options.data, "data set or folder to measure on; default: what the run was trained on",
            {.placeholder = "NAME", .words = dataset_names()});
  verb.directory("--data-dir", options.data_dir, "folder in which data sets are looked for first");
}

OpenedRun::OpenedRun(const Context& context, const Engine& engine, const ReadingOptions& options,
                     std::shared_ptr<const Dataset> data)
    : context_(context),
      run_(load_run(context, options.run)),
      reading_(run_.model, engine.compute(), engine.linalg()),
      data_(std::move(data)) {
  const bool same = data_ && (options.data.empty() ? run_.model.data : options.data) == data_->name;
  if (same) return;
  DataOptions data_options;
  data_options.paths = data_paths_from_environment(options.data_dir);
  data_options.pool = &engine.pool();
  data_ = std::make_shared<Dataset>(load_run_data(context, run_, options.data, data_options));
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

StoredCalibration stored_or_measured(const Context& context, const RunInfo& run,
                                     const std::string& data_checksum, const std::vector<size_t>& hidden,
                                     const std::string& weights_hash,
                                     const std::function<StoredCalibration()>& measure) {
  const std::string path = run.directory + "/calibration.safetensors";
  if (exists(path)) {
    StoredCalibration stored = load_calibration(path, hidden);
    if (!stored.sealed)
      context.say("note: " + path + " has no checksum: it was written by an earlier version");
    if (stored.model == weights_hash) return stored;
    context.say("note: the calibration belongs to other weights and is measured anew");
  }
  StoredCalibration measured = measure();
  if (!run.data_checksum.empty() && run.data_checksum != data_checksum) {
    context.say("note: the calibration is measured on other data than the run's and is not stored");
    return measured;
  }
  try {
    save_calibration(context.files, path, measured);
  } catch (const Error& e) {
    context.say(std::string("note: the calibration could not be stored: ") + e.what());
  }
  return measured;
}

const StoredCalibration& OpenedRun::calibration() {
  if (!calibration_)
    calibration_ = std::make_unique<StoredCalibration>(stored_or_measured(
        context_, run_, data_->checksum, std::vector<size_t>(reading_.layers(), run_.model.config.hidden()),
        reading_.weights_hash(), [&] { return reading_.calibrate(data_->train, data_->checksum); }));
  return *calibration_;
}

std::vector<GateLine> OpenedRun::lines(const std::string& form) {
  return form == "weights" ? weights_lines(reading_) : calibration().lines;
}

std::string figures_directory(const Context&, const std::string& directory) {
  const std::string path = directory + "/figures";
  make_directory(directory);
  make_own_folder(path);
  return path;
}

}  // namespace glint::cli
