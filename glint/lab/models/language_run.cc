#include "glint/lab/models/language_run.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/utf8.h"
#include "glint/lab/models/model_info.h"
#include "glint/lab/models/model_stories.h"
#include "glint/lab/models/run_checks.h"
#include "glint/model/language_file.h"
#include "glint/model/redrawn.h"
#include "glint/spectra/bootstrap.h"

namespace glint {

LanguageRun::LanguageRun(const Engine& engine, const RunSource& source, std::shared_ptr<const LanguageFile> file)
    : Run(engine, source, file->info),
      file_(std::move(file)),
      reading_(file_->model, engine.compute(), engine.linalg(), source.expert) {
  stored_ = !foreign();
  if (!foreign()) refuse_expert(source.expert);
  if (source.refine)
    bad_argument("refine", "there is nothing to refine: a layer of a language model has no logits of its own",
                 "an image model");
}

std::string LanguageRun::text() const { return model().text(); }

Json LanguageRun::config() const { return foreign() ? family_json(model()) : config_to_json(file_->own->config); }

const std::string& LanguageRun::trained_on() const {
  static const std::string unknown;
  return foreign() ? unknown : file_->own->data;
}

const LanguageModel& LanguageRun::own(const std::string& what) const {
  if (foreign()) refuse_foreign(directory(), what);
  return *file_->own;
}

const Tokenizer& LanguageRun::tokenizer() const {
  if (has_tokenizer()) return file_->tokenizer;
  if (mixture() && source_.expert.empty()) refuse_mixture(directory());
  if (file_->refused) throw Error(*file_->refused);
  bad_file(directory(), "the model has no tokenizer", "tokenizer.json, tokenizer.model or tokenizer.bin beside it",
           "`tokenizer=FILE`");
}

void LanguageRun::note_tokenizer() const {
  if (file_->refused) engine_.note(file_->refused->where + " is not used: " + file_->refused->what);
}

std::vector<TokenId> LanguageRun::beginning() const {
  const Tokenizer& own = tokenizer();
  if (!foreign() && own.prefix().empty()) return {own.end()};
  return {own.prefix().begin(), own.prefix().end()};
}

std::vector<TokenId> LanguageRun::tokens_of(const std::string& text) const {
  std::vector<TokenId> ids = beginning();
  const std::vector<TokenId> rest = tokenizer().encode(text);
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

std::vector<TokenId> LanguageRun::ends() const {
  std::vector<TokenId> out = model().config().ends;
  if (!has_tokenizer()) return out;
  if (tokenizer().has_end()) out.push_back(tokenizer().end());
  if (tokenizer().begin()) out.push_back(*tokenizer().begin());
  return out;
}

std::string LanguageRun::piece(TokenId token) const { return piece_text(tokenizer(), token); }

bool LanguageRun::own_text() const {
  std::error_code ignored;
  return foreign() || std::filesystem::is_regular_file(source_.data, ignored);
}

const TextData& LanguageRun::stories() {
  if (!stories_)
    stories_ = std::make_shared<TextData>(
        own_text() ? reading_text(engine_, source_.data, tokenizer(), tokens(), reading_.context()) : corpus());
  return *stories_;
}

TextData LanguageRun::corpus() const {
  const LanguageModel& model = own();
  const bool from_run = source_.data.empty();
  TextData data;
  try {
    data = load_text_data(from_run ? model.data : source_.data);
  } catch (const Error& e) {
    if (!from_run) throw;
    ErrorParts parts = e.parts();
    parts.what += " (the run was trained on it)";
    if (parts.where == "data") {  // nobody gave that
      parts.code = ErrorCode::bad_file;
      parts.where = directory() + "/config.json";
    }
    parts.hint = "`data=DIR`, where the corpus is now" + (parts.hint.empty() ? "" : ", or " + parts.hint);
    throw Error(parts);
  }
  if (data.tokenizer.sha256() != tokenizer().sha256())
    bad_file(data.origin, "the corpus was made with another tokenizer than the model's",
             "ids of " + directory() + "/" + kTokenizerFile,
             "`tokenize(TEXT, tokenizer=" + directory() + "/" + kTokenizerFile + ", out=DIR)`");
  if (from_run && !info_.data_checksum.empty() && info_.data_checksum != data.checksum)
    engine_.note(data.name + " is not what it was when the run was trained (other checksum)");
  return data;
}

std::string LanguageRun::samples() const {
  if (!own_text()) return "validation stories";
  return source_.data.empty() || source_.data == kTales ? "the built-in tales" : printable(source_.data);
}

TextRows LanguageRun::rows(size_t context) const {
  if (context == 0) context = reading_.context();
  const std::span<const TokenId> before = tokenizer().prefix();
  return foreign() ? TextRows(before, context) : TextRows(before, tokenizer().end(), context);
}

size_t LanguageRun::tokens() const {
  if (source_.tokens) return source_.tokens;
  if (!foreign()) return LanguageReading::kFidelityTokens;
  constexpr double kMost = 4000, kFewest = 500, kLarge = 1e8;  // the last: parameters
  return static_cast<size_t>(std::clamp(kMost * kLarge / static_cast<double>(model().parameters()), kFewest, kMost));
}

std::span<const TokenRow> LanguageRun::measured_rows() {
  if (!rows_) measured_ = rows_.emplace(rows()).fill_first(stories().valid, tokens());
  return measured_;
}

size_t LanguageRun::calibration_tokens() const {
  return foreign() ? tokens() : twin_ ? kTwinSamples : LanguageReading::kCalibrationTokens;
}

LayerPass& LanguageRun::pass(Half half) {
  std::optional<LayerPass>& pass = passes_[half];
  if (pass) return *pass;
  if (half == measuring) return pass.emplace(reading_.pass(measured_rows(), tokens()));
  const size_t most = calibration_tokens();
  TextRows some = rows();
  return pass.emplace(reading_.pass(some.fill_first(stories().train, most), most));
}

const Matrix<float>& LanguageRun::inputs(Half half, size_t layer) {
  // Layers that are drawn when they are needed are drawn once for both halves.
  if (twin_ && foreign())
    for (size_t i = 0; i < layer; i++)
      for (const Half each : {calibrating, measuring})
        if (!pass(each).layer() || *pass(each).layer() < i) pass(each).inputs(i);
  return pass(half).inputs(layer);
}

Activations LanguageRun::measured(size_t layer) {
  Activations a;
  a.inputs = inputs(measuring, layer);
  a.blocks = token_blocks(measured_rows(), tokens());
  return a;
}

Activations LanguageRun::fitted(size_t layer) {
  const Matrix<float>& all = inputs(calibrating, layer);
  const size_t n = pass(calibrating).first_rows(std::min(kFitted, tokens()));
  Activations a;
  a.inputs = Matrix<float>(n, all.cols());
  std::copy_n(all.data(), a.inputs.size(), a.inputs.data());
  return a;
}

size_t LanguageRun::layers_computed() const {
  size_t sum = 0;
  for (const std::optional<LayerPass>& pass : passes_) sum += pass ? pass->layers_computed() : 0;
  return sum;
}

bool LanguageRun::has(Form form) const {
  GluLayerView shape;  // what decides, without the weights of a layer
  shape.gate = model().config().gate, shape.normed = reading_.normed(reading_.last());
  const auto has = form_functions(form).has;
  return !has || has(shape);
}

std::string LanguageRun::unmeasured() { return mixture() ? "a mixture of experts is not run" : Run::unmeasured(); }

const PerForm<GateTerms>& LanguageRun::fitted_forms(size_t layer) {
  if (const auto it = fitted_.find(layer); it != fitted_.end()) return it->second;
  StoredCalibration one;
  add_layer(reading_, layer, inputs(calibrating, layer), one);
  PerForm<GateTerms> forms;
  for (const FormInfo& f : kFormTable)
    if (std::vector<GateTerms>& all = one.terms[f.form]; !all.empty()) forms[f.form] = std::move(all[0]);
  return fitted_.emplace(layer, std::move(forms)).first->second;
}

std::vector<GateTerms> LanguageRun::lines(Form form) {
  if (stored_) return Run::lines(form);
  std::vector<GateTerms> out;
  for (size_t i = 0; i < reading_.layers(); i++) out.push_back(line(form, i));
  return out;
}

GateTerms LanguageRun::line(Form form, size_t layer) {
  if (form_info(form).needs == FormNeeds::nothing) return weights_form(reading_.layer(layer));
  if (stored_) return Run::line(form, layer);
  if (!has(form)) form_functions(form).check(reading_.layer(layer));
  return fitted_forms(layer)[form];
}

Run::CalibrationInfo LanguageRun::calibration_info(size_t layer) {
  if (stored_) return Run::calibration_info(layer);
  return {Calibration::affine, pass(calibrating).tokens()};
}

StoredCalibration LanguageRun::measure_calibration() {
  if (!stored_) {
    StoredCalibration all{.model = reading_.weights_hash(),
                          .data = data_checksum(),
                          .inputs = pass(calibrating).tokens(),
                          .linalg = engine_.linalg().description()};
    for (const Form form : forms())
      if (form_info(form).needs == FormNeeds::data) all.terms[form] = lines(form);
    all.kinds.assign(reading_.layers(), Calibration::affine);
    return all;
  }
  TextRows some = rows();
  return reading_.calibrate(some.fill_first(stories().train, LanguageReading::kCalibrationTokens), data_checksum());
}

std::unique_ptr<Run> LanguageRun::again(const Engine& engine, const RunSource& source) const {
  return std::make_unique<LanguageRun>(engine, source, file_);
}

std::string LanguageRun::untrained_text() const {
  return foreign() ? "the model with every matrix redrawn" : Run::untrained_text();
}

std::unique_ptr<Run> LanguageRun::make_untrained() {
  constexpr uint64_t kSeed = 0;
  stories();
  const auto fresh = [&] {
    if (foreign()) return redrawn(model(), engine_.pool(), kSeed);
    auto own = std::make_shared<LanguageModel>(*file_->own);
    transformer_params(own->config).table.initialise(own->weights.span(), kSeed);
    return glint_model(std::move(own), directory());
  };
  RunSource source = source_;
  if (foreign()) source.tokens = std::min(tokens(), kTwinSamples);
  auto twin = std::make_unique<LanguageRun>(
      engine_, source,
      std::make_shared<const LanguageFile>(
          LanguageFile{.info = info_, .own = file_->own, .model = fresh(), .tokenizer = file_->tokenizer}));
  twin->stories_ = stories_, twin->twin_ = true, twin->stored_ = false;
  return twin;
}

std::string piece_text(const Tokenizer& tokenizer, TokenId token) {
  if (token >= tokenizer.size()) return "#" + std::to_string(token);
  std::string text = tokenizer.piece(token);
  constexpr std::string_view kSpace = "\u2581";
  if (text.starts_with(kSpace)) text = "·" + text.substr(kSpace.size());
  return printable(text);
}

}  // namespace glint
