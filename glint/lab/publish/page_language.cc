#include <algorithm>
#include <cmath>
#include <filesystem>

#include "glint/base/finite.h"
#include "glint/base/version.h"
#include "glint/io/tensor.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/logits.h"
#include "glint/lab/publish/page_run.h"
#include "glint/lab/read/read_forms.h"
#include "glint/model/language_file.h"
#include "glint/report/language_page.h"
#include "glint/report/page_pack.h"
#include "glint/train/run_dir.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDeviationStories = 16, kSampleTokens = 24;

// The rows of the first stories that the page's f16 weights are tried on.
double half_deviation(LanguageRun& run, const Engine& engine) {
  const LanguageModel& model = run.own();
  std::vector<float> rounded(model.weights.span().begin(), model.weights.span().end());
  for (float& w : rounded) w = from_half(to_half(w));
  if (!all_finite(rounded)) return INFINITY;  // f16 cannot hold them
  auto half = std::make_shared<LanguageModel>(model);
  std::ranges::copy(rounded, half->weights.data());
  const FamilyModel half_model = glint_model(std::move(half), run.directory());
  double most = 0;
  for (size_t i = 0; i < std::min(kDeviationStories, run.stories().valid.stories()); i++) {
    const std::vector<TokenId> story = run.stories().valid.story(i).ids();
    std::vector<TokenId> ids(1, run.tokenizer().end());
    ids.insert(ids.end(), story.begin(), story.end());
    ids.resize(std::min(ids.size(), model.config.context));
    const Matrix<float> a = text_logits(engine, run.model(), ids), b = text_logits(engine, half_model, ids);
    for (size_t k = 0; k < a.size(); k++)
      most = std::max(most, std::fabs(static_cast<double>(a.data()[k]) - static_cast<double>(b.data()[k])));
  }
  return most;
}

// The first words of a story: up to its first full stop when that comes soon.
std::string sample(LanguageRun& run) {
  if (run.stories().valid.stories() == 0) return "";
  std::vector<TokenId> story = run.stories().valid.story(0).ids();
  story.resize(std::min(story.size(), kSampleTokens));
  std::string text = run.tokenizer().decode(story);
  const size_t stop = text.rfind('.');
  if (stop != text.npos && stop > 20) text.resize(stop + 1);
  return text;
}

// Folders of this machine are nothing for a reader of the page: of a path its last name is kept.
std::string last_name(const std::string& text) {
  const std::string last = fs::path(text).filename().string();
  return text.find('/') == text.npos || last.empty() ? text : last;
}

}  // namespace

std::string short_run_name(const std::string& directory) {
  std::error_code failed;
  const fs::path path = fs::weakly_canonical(directory, failed);
  if (failed || path.filename().empty()) return directory;
  const std::string last = path.filename().string();
  // Several seeds of one experiment lie side by side: seed-0, seed-1, ...
  return last.starts_with("seed-") ? path.parent_path().filename().string() + "/" + last : last;
}

Json page_run_info(const std::string& directory) {
  if (!exists(directory + "/" + kRunFile)) return Json::object();
  Json info = read_run_file(directory).json;
  for (const char* key : {"files", "sha256"}) info.erase(key);  // of files that the page does not have
  if (info.contains("data") && info["data"].is_object()) info["data"].erase("origin");
  const auto shorten = [](Json& value) {
    if (value.is_string()) value = last_name(value.get<std::string>());
  };
  const Json::json_pointer options("/identity/options");
  if (info.contains(options) && info[options].is_object())
    for (Json& value : info[options]) shorten(value);
  for (const char* place : {"/data/name", "/identity/data/name"})
    if (const Json::json_pointer at(place); info.contains(at)) shorten(info[at]);
  return info;
}

PageResult write_language_page(const Engine& engine, LanguageRun& run, const PageRequest& q) {
  const LanguageModel& model = run.own();
  const std::string& directory = run.directory();

  LanguagePageData data;
  data.version = kVersion;
  data.linalg = engine.linalg().description();
  data.name = short_run_name(directory);
  data.data = last_name(model.data);
  data.config = model.config;
  data.weights.assign(model.weights.span().begin(), model.weights.span().end());
  data.tokenizer_model = run.tokenizer().model();
  data.sample = sample(run);
  const std::vector<Form> forms = distinct_forms(run);
  for (const Form form : forms) data.forms.push_back({name(form), {}});
  data.form = name(forms.size() == 1 ? Form::weights : run.form("auto"));

  for (size_t i = 0; i < run.reading().layers(); i++) {
    engine.check_stop();
    const Matrix<float> x = run.measured(i).inputs;
    for (size_t f = 0; f < forms.size(); f++) {
      const GateTerms terms = run.line(forms[f], i);
      data.forms[f].lines.push_back({terms.gain, terms.shift, run.reading().layer_fidelity(i, terms, x)});
    }
    data.controls.push_back(layer_controls(run, i, forms));
  }
  data.half_deviation = half_deviation(run, engine);
  data.run = page_run_info(directory);
  data.metrics = read_metrics(directory);

  const Page page = make_language_page(data, q.limit);
  PageResult result{.page = q.out.empty() ? directory + "/explorer.html" : q.out,
                    .bytes = page.html.size(),
                    .linalg = data.linalg,
                    .half = page.half,
                    .logit_deviation = data.half_deviation,
                    .language = true,
                    .runs = {{.name = data.name, .forms = {}, .controls = data.controls}}};
  write_atomic(engine.files(), result.page, page.html);
  for (const LanguagePageForm& form : data.forms) {
    PageFormResult f{.name = form.name, .fidelity = {}, .layers = {}};
    for (const LanguagePageLine& l : form.lines) f.layers.push_back({f.layers.size() + 1, form.name, l.fidelity});
    result.runs[0].forms.push_back(std::move(f));
  }
  return result;
}

}  // namespace glint
