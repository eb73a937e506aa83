// Reading a language model of another program: the GLU of one layer along tokens.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "glint/base/error.h"
#include "glint/data/story_reader.h"
#include "glint/lab/foreign.h"
#include "glint/lab/model_info.h"
#include "glint/lab/read_directions.h"
#include "glint/lab/read_parts.h"
#include "glint/spectra/controls.h"
#include "glint/spectra/family_reading.h"

namespace glint {
namespace {

// Tokens that calibrate, and as many that measure.
constexpr size_t kForeignTokens = 4000;

// The stories of a text by turns: the first calibrates, the second measures, and so on. A text of one story
// is cut in the middle.
struct Halves {
  std::vector<std::vector<TokenId>> calibrate, measure;
};

Halves text_halves(const Engine& engine, const ForeignModel& model, const std::string& path) {
  Halves out;
  size_t tokens[2] = {};
  const auto add = [&](size_t half, std::vector<TokenId> ids) {
    ids.resize(std::min({ids.size(), model.window(), kForeignTokens - tokens[half]}));
    tokens[half] += ids.size();
    if (!ids.empty()) (half ? out.measure : out.calibrate).push_back(std::move(ids));
  };
  StoryReader reader(path);
  std::vector<TokenId> first;
  size_t count = 0;
  for (std::string story; reader.next(story) && std::min(tokens[0], tokens[1]) < kForeignTokens; count++) {
    engine.check_stop();
    const std::vector<TokenId> ids = model.tokens(story);
    if (count == 0) first = ids;
    add(count % 2, ids);
  }
  if (count == 1 && first.size() > 3) {
    out = {}, tokens[0] = tokens[1] = 0;
    const auto middle = first.begin() + static_cast<std::ptrdiff_t>(first.size() / 2);
    add(0, {first.begin(), middle});
    add(1, {middle, first.end()});
  }
  if (out.measure.empty())
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the text is too short to measure on",
                 .where = path,
                 .expected = "a few stories"});
  return out;
}

// "stories15M-reading", in the folder where the program is.
std::string default_folder(const std::string& model) {
  return std::filesystem::path(model).stem().string() + "-reading";
}

}  // namespace

ReadResult read_foreign(const Engine& engine, const ReadRequest& q) {
  const ForeignModel model = open_foreign(q.run, q.tokenizer);
  const FamilyReading reading(model.model, engine.compute(), engine.linalg());
  if (q.refine || q.form == "scaled")
    throw Error({.code = ErrorCode::usage,
                 .what = "a model of another program has no scaled form yet",
                 .where = q.refine ? "refine" : "form",
                 .expected = "`weights` or `calibrated`"});
  const bool has_text = !q.data.empty();
  if (q.form == "calibrated" && !has_text)
    throw Error({.code = ErrorCode::usage,
                 .what = "there is nothing to calibrate on",
                 .where = "data",
                 .expected = "`data=FILE` with a text"});
  ReadResult r;
  r.kind = ModelKind::language;
  r.layer = asked_layer(reading, q.layer), r.layers = reading.layers();
  r.default_form = has_text ? "calibrated" : "weights";
  r.form = q.form == "auto" ? r.default_form : q.form;
  const TokenSpace space{model.tokenizer, reading,
                         [&](std::span<const TokenId> tokens) { return reading.token_directions(tokens); }};
  const Directions directions = language_directions(space, r.layer, q);
  for (const std::string& name : directions.names) r.asked += (r.asked.empty() ? "" : ", ") + name;
  const std::string folder =
      q.spectra || q.figures ? result_folder(q.out.empty() ? default_folder(model.path) : q.out, "") : "";
  r.linalg = engine.linalg().description();
  r.run = model.path, r.model_text = model.model.text(), r.model = family_json(model.model);
  r.gate = gate_info(model.model.config().gate.kind).text.name;
  r.weights_sha256 = reading.weights_hash();
  r.samples = printable(q.data);
  engine.check_stop();

  const GluLayerView view = reading.layer(r.layer);
  const Wanted wanted = wanted_pairs(view, q.top);
  if (has_text) {
    const Halves text = text_halves(engine, model, q.data);
    const Activations fitted{.inputs = reading.inputs(text.calibrate, r.layer, kForeignTokens),
                             .logits = {},
                             .residual_logits = {}};
    const Activations measured{
        .inputs = reading.inputs(text.measure, r.layer, kForeignTokens), .logits = {}, .residual_logits = {}};
    r.data = printable(q.data);
    r.inputs = measured.inputs.rows(), r.calibration_inputs = fitted.inputs.rows();
    r.calibration = name(Calibration::affine);
    const std::pair<const char*, GateLine> lines[] = {
        {"weights", weights_form(view)},
        {"calibrated",
         calibrated_form(engine.linalg(), engine.pool(), view, fitted.inputs, Calibration::affine)}};
    for (const auto& [form, line] : lines) {
      Reading of_form = glint::read(reading, directions, line, measured, {}, wanted);
      r.forms.push_back(form_result(form, of_form));
      if (form == r.form) set_directions(r, directions.names, std::move(of_form));
      engine.check_stop();
    }
    r.controls.linear = linear_control(reading, directions, fitted, measured);
  } else {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> unknown(directions.count(), kUnknown);
    Reading of_form;
    of_form.units = unit_forms(engine.linalg(), engine.pool(), view, weights_form(view), directions.weights,
                               directions.constants, wanted);
    of_form.fidelity.unit_r2 = of_form.fidelity.unit_even_share = of_form.eigenvectors.unit_r2 = unknown;
    of_form.linear_share = unknown;
    of_form.quadratic_share = unknown;
    set_directions(r, directions.names, std::move(of_form));
  }
  const auto near_of = [&](std::span<const double> vector) {
    return reading.near(vector, q.near,
                        [&](TokenId t) { return t < model.tokenizer.size() && is_text(model.tokenizer, t); });
  };
  for (ReadDirection& d : r.directions) add_near_tokens(model.tokenizer, near_of, q.show, d);
  write_read_files(engine, reading, q, folder, r);
  return r;
}

}  // namespace glint
