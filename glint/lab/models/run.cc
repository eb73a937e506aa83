#include "glint/lab/models/run.h"

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run_checks.h"

namespace glint {
namespace {

// With its text as the data.
RunSource with_text(RunSource source) {
  if (source.text.empty()) return source;
  if (!source.data.empty()) bad_argument(source.text, "`data` has no effect beside `text`", "one of the two");
  if (source.text.find(' ') != source.text.npos && !exists(source.text))
    bad_argument("text", "there is no file '" + printable(source.text) + "'", "a file with a text to measure on",
                 "what a model shall read is `prompt`");
  source.data = std::move(source.text);
  source.text.clear();
  return source;
}

}  // namespace

Run::Run(const Engine& engine, const RunSource& source, RunInfo info)
    : engine_(engine), source_(with_text(source)), info_(std::move(info)) {}

std::vector<Field> fields_of(RunSource& s) {
  return {
      Field("run", s.run, "The run directory, or a language model of another program")
          .directory()
          .argument("RUN")
          .required(),
      Field("data", s.data, "Data set or folder to measure on; default: what the run was trained on")
          .shown("NAME|DIR")
          .suggest(dataset_names()),
      Field("data_dir", s.data_dir, "Images: folder in which data sets are looked for first").directory().images(),
      Field("text", s.text,
            "Language models: a text to read on, of which one half of the stories calibrates and the other "
            "measures; default: the corpus of the run, for a model of another program the built-in tales")
          .file()
          .language(),
      Field("tokens", s.tokens,
            "Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for "
            "models of other programs 4000 or fewer")
          .range(0, 1e8)
          .language(),
      Field("tokenizer", s.tokenizer, "Tokenizer of a model of another program; default: its own").file().language(),
      Field("expert", s.expert, "Mixtures of experts: which expert of the layer, from 1 on, or shared")
          .shown("N")
          .suggest({"shared"})
          .language(),
      Field("refine", s.refine,
            "Images: improve the scaled form by descent on logits and decisions; once for a run, seconds")
          .images()};
}

ImageRun& Run::image() {
  if (kind() != ModelKind::image) refuse_language(directory());
  return static_cast<ImageRun&>(*this);
}

const ImageRun& Run::image() const { return const_cast<Run*>(this)->image(); }

LanguageRun& Run::language() {
  if (kind() != ModelKind::language) refuse_image(directory());
  return static_cast<LanguageRun&>(*this);
}

const LanguageRun& Run::language() const { return const_cast<Run*>(this)->language(); }

Run& Run::untrained() {
  if (!untrained_) untrained_ = make_untrained();
  return *untrained_;
}

std::vector<Form> Run::forms() const {
  std::vector<Form> out;
  for (const FormInfo& f : kFormTable)
    if (f.needs != FormNeeds::input && has(f.form)) out.push_back(f.form);
  return out;
}

void Run::check_has(Form form) const {
  if (!has(form)) form_functions(form).check(reading().layer(reading().last()));  // throws
}

std::string Run::unmeasured() {
  if (!source_.data.empty()) return "";
  try {
    data_name();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::interrupted) throw;
    return e.parts().what;
  }
  return "";
}

Form Run::form(const std::string& asked, FormNeeds most) {
  const Form form = asked_form(asked, most).value_or(Form::weights);
  if (asked == "auto") return default_form(gate(), unmeasured().empty());
  check_has(form);
  return form;
}

std::vector<GateTerms> Run::lines(Form form) {
  check_has(form);
  return form_info(form).needs == FormNeeds::nothing ? weights_lines(reading()) : calibration().terms[form];
}

Run::CalibrationInfo Run::calibration_info(size_t layer) {
  return {calibration().kinds[layer], static_cast<size_t>(calibration().inputs)};
}

// Stores a calibration beside the run when the data are those that the run was trained on.
void Run::keep(const std::string& path, const StoredCalibration& calibration) {
  if (!info_.data_checksum.empty() && info_.data_checksum != data_checksum()) {
    engine_.note("the calibration is measured on other data than the run's and is not stored");
    return;
  }
  try {
    save_calibration(engine_.files(), path, calibration);
  } catch (const Error& e) {
    engine_.note(std::string("the calibration could not be stored: ") + e.what());
  }
}

StoredCalibration Run::stored_or_measured() {
  const std::string path = directory() + "/calibration.safetensors";
  if (exists(path)) {
    std::vector<size_t> hidden;
    for (size_t i = 0; i < reading().layers(); i++) hidden.push_back(reading().layer(i).hidden());
    StoredCalibration stored = load_calibration(path, hidden);
    if (stored.model == reading().weights_hash()) {
      if (stored.linalg != engine_.linalg().description())
        engine_.note("the stored calibration was computed with " + printable(stored.linalg) + ", this with " +
                     engine_.linalg().description() + ": last digits differ from a calibration made anew");
      if (complete(stored)) keep(path, stored);
      return stored;
    }
    engine_.note("the calibration belongs to other weights and is measured anew");
  }
  StoredCalibration measured = measure_calibration();
  complete(measured);
  keep(path, measured);
  return measured;
}

const StoredCalibration& Run::calibration() {
  if (!calibration_) {
    data_checksum();  // data that are not there are said first
    StoredCalibration made = stored_ ? stored_or_measured() : measure_calibration();
    if (!stored_) complete(made);
    calibration_ = std::make_unique<StoredCalibration>(std::move(made));
  }
  return *calibration_;
}

}  // namespace glint
