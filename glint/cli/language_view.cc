#include "glint/cli/language_view.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/figure_files.h"
#include "glint/cli/file_words.h"
#include "glint/cli/language_directions.h"
#include "glint/cli/opened_run.h"
#include "glint/cli/run_checks.h"
#include "glint/report/spectrum_figure.h"
#include "glint/report/table.h"
#include "glint/spectra/spectra_file.h"
#include "glint/train/text_task.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kScanRows = 20;

// Not bytes and marks, which are rare or never seen.
bool is_text(const OpenedLanguageRun& run, TokenId token) {
  const Tokenizer& t = run.run().tokenizer;
  return token != t.unknown() && !t.is_byte(token) && !t.is_control(token);
}

LanguageReading::NearTokens near_to(const OpenedLanguageRun& run, std::span<const double> vector,
                                    size_t count) {
  return run.reading().near(vector, count, [&](TokenId t) { return is_text(run, t); });
}

LanguageReading::NearTokens near_of(const OpenedLanguageRun& run, const Spectrum& s, size_t k, size_t count) {
  return near_to(run, s.vectors.view().row(k), count);
}

std::string token_list(const OpenedLanguageRun& run, const std::vector<LanguageReading::NearToken>& near) {
  std::string out;
  for (const LanguageReading::NearToken& n : near) out += (out.empty() ? "" : " ") + run.piece(n.token);
  return out;
}

ordered_json token_json(const OpenedLanguageRun& run, const std::vector<LanguageReading::NearToken>& near) {
  ordered_json out = ordered_json::array();
  for (const LanguageReading::NearToken& n : near)
    out.push_back({{"token", run.run().tokenizer.piece(n.token)}, {"id", n.token}, {"cosine", n.cosine}});
  return out;
}

// Indices of the shown eigenvectors: the strongest of each sign, positive ones first.
std::vector<size_t> shown_of(const Spectrum& s, size_t show) {
  std::vector<size_t> out;
  for (size_t k = 0; k < std::min(show, s.count()) && s.values[k] > 0; k++) out.push_back(k);
  for (size_t k = 0; k < std::min(show, s.count()) && s.values[s.count() - 1 - k] < 0; k++)
    out.push_back(s.count() - 1 - k);
  return out;
}

struct View {
  size_t layer = 0, tokens = 0;
  std::vector<Direction> directions;
  LanguageReading::Reading weights, calibrated;
};

// In percent; a share of nothing has no sign.
std::string share_text(double share) {
  const double tenths = std::round(1000 * share);
  return fixed_text(tenths == 0 ? 0 : tenths / 10, 1);
}

bool has_linear(const UnitForm& form) {
  return std::any_of(form.linear.begin(), form.linear.end(), [](double v) { return v != 0; });
}

void print_unit(Context& context, const OpenedLanguageRun& run, const LanguageSpectrumOptions& o,
                const Direction& d, const LanguageReading::Reading& reading, size_t u) {
  const UnitForm& form = reading.units[u];
  const Spectrum& s = form.spectrum;
  const std::vector<double> energy = energy_curve(s.values);
  const EffectiveRank rank = effective_rank(s.values);
  const auto part = [&](size_t k) {
    return fixed_text(100 * energy[std::min(k, energy.size()) - 1], 0) + " %";
  };
  context.out << "\n"
              << d.name << ": energy of the strongest 1, 5, 20 eigenvectors " << part(1) << ", " << part(5)
              << ", " << part(20) << "; entropy rank " << fixed_text(rank.entropy, 1)
              << ", participation rank " << fixed_text(rank.participation, 1) << " of " << s.count()
              << "\nR2 " << fixed_text(reading.fidelity.unit_r2[u], 3);
  if (has_linear(form))
    context.out << "; of the eigenvectors alone " << fixed_text(reading.eigenvectors.unit_r2[u], 3)
                << "; the linear part has " << share_text(reading.linear_share[u])
                << " % of the reading's variance";
  context.out << "\n";
  Table table({{.header = "eigenvalue", .align = Align::right},
               {.header = "tokens along it"},
               {.header = "tokens against it"}});
  for (const size_t k : shown_of(s, o.show)) {
    const LanguageReading::NearTokens near = near_of(run, s, k, o.near);
    table.add({fixed_text(s.values[k], 3), token_list(run, near.positive), token_list(run, near.negative)});
  }
  if (has_linear(form)) {
    const LanguageReading::NearTokens near = near_to(run, form.linear, o.near);
    table.add({"linear part", token_list(run, near.positive), token_list(run, near.negative)});
  }
  context.out << table.terminal();
}

ordered_json fidelity_json(const LanguageReading::Reading& r) {
  return {{"correlation", r.fidelity.correlation},
          {"r2", r.fidelity.r2},
          {"eigenvectors_r2", r.eigenvectors.r2},
          {"tokens", r.fidelity.inputs}};
}

ordered_json unit_json(const OpenedLanguageRun& run, const LanguageSpectrumOptions& o, const Direction& d,
                       const LanguageReading::Reading& reading, size_t u) {
  const UnitForm& form = reading.units[u];
  const Spectrum& s = form.spectrum;
  const EffectiveRank rank = effective_rank(s.values);
  ordered_json unit = {{"name", d.name},
                       {"r2", reading.fidelity.unit_r2[u]},
                       {"eigenvectors_r2", reading.eigenvectors.unit_r2[u]},
                       {"linear_share", reading.linear_share[u]},
                       {"effective_rank", {{"entropy", rank.entropy}, {"participation", rank.participation}}},
                       {"eigenvalues", s.values}};
  for (const size_t k : shown_of(s, o.show)) {
    const LanguageReading::NearTokens near = near_of(run, s, k, o.near);
    unit["vectors"].push_back({{"value", s.values[k]},
                               {"along", token_json(run, near.positive)},
                               {"against", token_json(run, near.negative)}});
  }
  if (has_linear(form)) {
    const LanguageReading::NearTokens near = near_to(run, form.linear, o.near);
    unit["linear"] = {{"vector", form.linear},
                      {"along", token_json(run, near.positive)},
                      {"against", token_json(run, near.negative)}};
  }
  return unit;
}

void report(Context& context, OpenedLanguageRun& run, const LanguageSpectrumOptions& o, const View& v,
            const std::string& stored, const std::string& figures) {
  const LanguageReading::Reading& chosen = o.form == "weights" ? v.weights : v.calibrated;
  if (context.shared.json) {
    ordered_json j = {{"run", run.run().directory}, {"layer", v.layer + 1}, {"form", o.form}};
    j["fidelity"] = {{"weights", fidelity_json(v.weights)}, {"calibrated", fidelity_json(v.calibrated)}};
    j["units"] = ordered_json::array();
    for (size_t u = 0; u < v.directions.size(); u++)
      j["units"].push_back(unit_json(run, o, v.directions[u], chosen, u));
    j["spectra"] = stored;
    context.print_json(j);
    return;
  }
  context.out << "run:   " << run.run().directory << "\nlayer: " << v.layer + 1 << " of "
              << run.reading().layers() << "; outputs of its GLU at " << v.tokens
              << " tokens of validation stories\n\n";
  Table table({{.header = "form"},
               {.header = "correlation", .align = Align::right},
               {.header = "R2", .align = Align::right},
               {.header = "R2 of the eigenvectors alone", .align = Align::right}});
  for (const auto& [name, reading] :
       {std::pair("weights", &v.weights), std::pair("calibrated", &v.calibrated)})
    table.add({name, fixed_text(reading->fidelity.correlation, 4), fixed_text(reading->fidelity.r2, 4),
               fixed_text(reading->eigenvectors.r2, 4)});
  context.out << table.terminal();
  for (size_t u = 0; u < v.directions.size(); u++) print_unit(context, run, o, v.directions[u], chosen, u);
  context.out << "\nAn eigenvector acts through its square: it speaks for its output (against it, where the "
                 "eigenvalue is negative) both along and against.\n";
  if (std::any_of(chosen.units.begin(), chosen.units.end(), has_linear))
    context.out << "The linear part is not squared: tokens along it speak for the output, tokens against it "
                   "against the output.\n";
  context.out << "spectra: " << stored << "\n";
  if (!figures.empty()) context.out << "figures: " << figures << " (SVG, PNG, CSV)\n";
}

void scan(Context& context, OpenedLanguageRun& run, const LanguageSpectrumOptions& o, size_t layer,
          const std::string& directory) {
  const GateLine line = run.lines(o.form)[layer];
  Progress progress =
      context.progress({.label = "scan", .total = run.run().model.config.vocab, .unit = "tokens"});
  std::vector<LanguageReading::Scanned> all =
      run.reading().scan(layer, line, [&](size_t done) { progress.update(done); });
  progress.finish();
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.rank.participation < b.rank.participation; });
  const LanguageReading::LayerFidelity trust =
      run.reading().layer_fidelity(layer, line, run.inputs(layer, LanguageReading::kFidelityTokens));
  Table shown({{.header = "token"},
               {.header = "participation rank", .align = Align::right},
               {.header = "entropy rank", .align = Align::right},
               {.header = "energy of the first", .align = Align::right},
               {.header = "largest", .align = Align::right},
               {.header = "smallest", .align = Align::right},
               {.header = "R2", .align = Align::right},
               {.header = "eigenvectors alone", .align = Align::right}});
  Table whole({{.header = "token", .text = true},
               {.header = "id"},
               {.header = "participation_rank"},
               {.header = "entropy_rank"},
               {.header = "energy"},
               {.header = "largest"},
               {.header = "smallest"},
               {.header = "r2"},
               {.header = "eigenvectors_r2"},
               {.header = "linear_share"}});
  for (const LanguageReading::Scanned& s : all) {
    const double r2 = trust.tokens.r2[s.token], alone = trust.tokens.eigenvectors_r2[s.token];
    whole.add({run.run().tokenizer.piece(s.token), std::to_string(s.token), number_text(s.rank.participation),
               number_text(s.rank.entropy), number_text(s.energy), number_text(s.top), number_text(s.bottom),
               number_text(r2), number_text(alone), number_text(trust.tokens.linear_share[s.token])});
    if (shown.rows() < kScanRows && is_text(run, s.token))
      shown.add({run.piece(s.token), fixed_text(s.rank.participation, 2), fixed_text(s.rank.entropy, 1),
                 fixed_text(100 * s.energy, 0) + " %", fixed_text(s.top, 3), fixed_text(s.bottom, 3),
                 fixed_text(r2, 3), fixed_text(alone, 3)});
  }
  const std::string form = o.form == "calibrated" ? "" : "-" + o.form;
  const std::string path = directory + "/scan" + form + "-layer-" + std::to_string(layer + 1) + ".csv";
  write_atomic(context.files, path, whole.csv());
  if (context.shared.json) {
    context.print_json({{"run", run.run().directory},
                        {"layer", layer + 1},
                        {"form", o.form},
                        {"fidelity",
                         {{"correlation", trust.all.correlation},
                          {"r2", trust.all.r2},
                          {"eigenvectors_r2", trust.eigenvectors_r2},
                          {"linear_share", trust.linear_share},
                          {"tokens", trust.all.inputs}}},
                        {"tokens", ordered_json::parse(whole.json())},
                        {"csv", path}});
    return;
  }
  context.out << "The tokens of layer " << layer + 1 << " whose spectrum is most concentrated (" << o.form
              << " form), of " << all.size() << " (bytes and marks left out):\n\n"
              << shown.terminal() << "\nThe form over all that the layer adds, at " << trust.all.inputs
              << " tokens of validation stories: R2 " << fixed_text(trust.all.r2, 3)
              << "; of the eigenvectors alone " << fixed_text(trust.eigenvectors_r2, 3)
              << "; the linear part has " << share_text(trust.linear_share)
              << " % of the reading's variance\nall tokens: " << path << "\n";
}

}  // namespace

OpenedLanguageRun::OpenedLanguageRun(const Context& context, const Engine& engine,
                                     const std::string& directory, const std::string& data)
    : context_(context),
      run_(load_language_run(context, directory)),
      reading_(run_.model, engine.compute(), engine.linalg()),
      data_(load_run_text(context, run_, data)) {}

const StoredCalibration& OpenedLanguageRun::calibration() {
  if (!calibration_)
    calibration_ = std::make_unique<StoredCalibration>(stored_or_measured(
        context_, run_, data_.checksum, std::vector<size_t>(reading_.layers(), run_.model.config.hidden()),
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

void language_spectrum(Context& context, const LanguageSpectrumOptions& o) {
  const Engine engine = engine_of(context);
  OpenedLanguageRun run(context, engine, o.run, o.data);
  if (o.layer > run.reading().layers())
    throw Error({.code = ErrorCode::usage,
                 .what = "the model has no layer " + std::to_string(o.layer),
                 .where = "--layer",
                 .expected = "from 1 to " + std::to_string(run.reading().layers())});
  const size_t layer = o.layer ? o.layer - 1 : run.reading().layers() - 1;
  const std::string directory = context.shared.out.empty() ? run.run().directory : context.shared.out;
  View v;
  v.layer = layer;
  if (!o.scan) v.directions = asked_directions(run, layer, o);
  make_directory(directory);
  if (o.scan) return scan(context, run, o, layer, directory);

  Matrix<double> weights(v.directions.size(), run.run().model.config.hidden());
  for (size_t u = 0; u < weights.rows(); u++)
    std::ranges::copy(v.directions[u].weights.view().row(0), weights.view().row_ptr(u));
  const Matrix<float> x = run.inputs(layer, LanguageReading::kFidelityTokens);
  v.tokens = x.rows();
  v.weights = run.reading().read(layer, weights, run.lines("weights")[layer], x);
  v.calibrated = run.reading().read(layer, weights, run.lines("calibrated")[layer], x);
  const LanguageReading::Reading& chosen = o.form == "weights" ? v.weights : v.calibrated;

  SpectraToWrite spectra{.units = {},
                         .features = {},
                         .names = {},
                         .form = o.form,
                         .layer = layer,
                         .model = run.reading().weights_hash()};
  std::vector<FigureFile> files;
  const std::string place = "-" + o.form + "-layer-" + std::to_string(layer + 1);
  std::string asked;
  const std::string figures = o.no_figures ? "" : figures_directory(context, directory);
  for (size_t u = 0; u < v.directions.size(); u++) {
    spectra.units.push_back(o.top ? strongest_terms(chosen.units[u], o.top) : chosen.units[u]);
    spectra.names.push_back(v.directions[u].name);
    asked += (u ? ", " : "") + v.directions[u].name;
    if (o.no_figures) continue;
    const Spectrum& s = chosen.units[u].spectrum;
    const Figure f = spectrum_figure(
        {.title = v.directions[u].name + ", layer " + std::to_string(layer + 1),
         .note = "R\u00b2 of this output " + fixed_text(chosen.fidelity.unit_r2[u], 3) +
                 ", of the eigenvectors alone " + fixed_text(chosen.eigenvectors.unit_r2[u], 3),
         .values = s.values,
         .groups = s.groups,
         .size = {},
         .positive = {},
         .negative = {}});
    files.push_back({figures + "/spectrum-" + file_word(v.directions[u].name) + place, f.svg, f.csv});
  }
  const std::string stored = directory + "/spectra-" + file_word(asked) + place + ".safetensors";
  save_spectra(context.files, stored, spectra);
  write_figures(context, run.reading().pool(), files);
  report(context, run, o, v, stored, figures);
}

}  // namespace glint::cli
