#include "glint/lab/study/readability.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "glint/base/statistics.h"
#include "glint/io/json.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/study/run_pairs.h"
#include "glint/spectra/readability.h"
#include "glint/train/text_task.h"

namespace glint {
namespace {

constexpr size_t kTokens = 12;  // directions of a language model
// Eigenpairs of a wide layer that are computed: the three that are looked at are among them but for a layer
// whose spectrum has one sign almost alone.
constexpr size_t kWidePairs = 32;

// One run, read, with what seeds are compared by.
struct ReadableRun {
  RunReadability result;
  std::vector<LeadingVectors> leading;  // [directions], as pictures or over tokens
  std::string options;                  // all that makes it this run but for the seed; "": not known
};

std::vector<Spectrum> leading_spectra(const GluModel& model, const Directions& d, const GateTerms& line) {
  const GluLayerView layer = model.layer(d.layer);
  std::vector<Spectrum> out;
  for (const UnitForm& f :
       unit_forms({model.linalg(), model.pool(), layer}, line, d.weights, {}, wanted_pairs(layer, kWidePairs)))
    out.push_back(leading_spectrum(f.spectrum));
  return out;
}

// Eigenvectors where models of any seed can be compared: as pictures, or by their products with the
// embeddings of all tokens. All directions in one call: deeper models walk down many vectors at once.
std::vector<LeadingVectors> as_seen(Run& run, size_t layer, const std::vector<Spectrum>& spectra,
                                    const std::vector<GateTerms>& lines) {
  const GluModel& model = run.reading();
  size_t rows = 0, at = 0;
  for (const Spectrum& s : spectra) rows += s.count();
  Matrix<double> all(rows, model.layer(layer).width());
  for (const Spectrum& s : spectra) {
    std::copy_n(s.vectors.data(), s.vectors.size(), all.view().row_ptr(at));
    at += s.count();
  }
  const Matrix<double> seen = run.kind() == ModelKind::image ? run.image().reading().pictures(layer, all, lines)
                                                             : run.language().reading().products(all);
  std::vector<LeadingVectors> out;
  at = 0;
  for (const Spectrum& s : spectra) {
    out.push_back({.values = s.values, .vectors = Matrix<double>(s.count(), seen.cols())});
    std::copy_n(seen.view().row_ptr(at), out.back().vectors.size(), out.back().vectors.data());
    at += s.count();
  }
  return out;
}

// Mean over the directions that have something to compare.
std::optional<double> mean_likeness(const LinearAlgebra& linalg, const std::vector<LeadingVectors>& a,
                                    const std::vector<LeadingVectors>& b) {
  std::vector<double> all;
  for (size_t u = 0; u < a.size(); u++)
    if (const double v = likeness(linalg, a[u], b[u]); std::isfinite(v)) all.push_back(v);
  if (all.empty()) return {};
  return mean_and_sd(all).mean;
}

// The terms of a fitted form from every second sample, from `first` on, of the data that it is fitted to; of a
// language model those of one layer alone.
std::vector<GateTerms> half_lines(Run& run, size_t layer, Form form, size_t first) {
  std::vector<GateTerms> lines(run.reading().layers());
  if (run.kind() == ModelKind::image) {
    const ImageSet& train = run.image().images().train;
    const std::vector<uint32_t> all = evenly_spaced(train.count(), ImageReading::kCalibrationImages);
    std::vector<uint32_t> half;
    for (size_t i = first; i < all.size(); i += 2) half.push_back(all[i]);
    for (size_t i = 0; i < lines.size(); i++)
      lines[i] = fit_form(run.reading(), form, i, run.image().reading().run(train, i, half).inputs);
    return lines;
  }
  LanguageRun& language = run.language();
  TextRows rows = language.rows();
  std::vector<TokenRow> half;
  const size_t tokens = language.calibration_tokens();
  const std::span<const TokenRow> all = rows.fill_first(language.stories().train, tokens);
  for (size_t i = first; i < all.size(); i += 2) half.push_back(all[i]);
  lines[layer] = fit_form(run.reading(), form, layer, language.reading().inputs(half, layer, tokens));
  return lines;
}

std::optional<double> halves(Run& run, const Directions& d, Form form) {
  if (form_info(form).needs == FormNeeds::nothing || run.gate() == GateKind::Identity) return {};  // nothing is fitted
  std::vector<LeadingVectors> both[2];
  for (size_t h = 0; h < 2; h++) {
    const std::vector<GateTerms> lines = half_lines(run, d.layer, form, h);
    both[h] = as_seen(run, d.layer, leading_spectra(run.reading(), d, lines[d.layer]), lines);
  }
  return mean_likeness(run.reading().linalg(), both[0], both[1]);
}

Directions asked(Run& run, const ReadabilityRequest& q) {
  if (run.kind() == ModelKind::image) return run.image().reading().classes();
  const size_t layer = asked_layer(run.reading(), q.layer);
  if (!q.along.none()) return asked_directions(run.language(), layer, q.along, run.form(q.form));
  const std::vector<TokenId> tokens = frequent_tokens(run.language(), kTokens);
  std::vector<std::string> names;
  for (const TokenId t : tokens) names.push_back(run.language().piece(t));
  return run.reading().directions(layer, run.language().reading().token_directions(tokens), names);
}

void add_pictures(const Engine& engine, const std::vector<LeadingVectors>& leading, RunReadability& r) {
  for (const LeadingVectors& v : leading) r.pictures += v.vectors.rows();
  Matrix<double> all(r.pictures, leading[0].vectors.cols());
  size_t at = 0;
  for (const LeadingVectors& v : leading) {
    std::copy_n(v.vectors.data(), v.vectors.size(), all.view().row_ptr(at));
    at += v.vectors.rows();
  }
  r.distinct_pictures = distinct_pictures(engine.linalg(), all);
}

void add_auc(const std::vector<Spectrum>& spectra, ConstMatrixView<float> x, std::span<const uint32_t> labels,
             RunReadability& r) {
  std::vector<double> known;
  for (size_t c = 0; c < spectra.size(); c++) {
    std::vector<uint8_t> own(labels.size());
    for (size_t i = 0; i < own.size(); i++) own[i] = labels[i] == c;
    r.class_auc.push_back(area_under_curve(strongest_pair_scores(spectra[c], x), own));
    if (std::isfinite(r.class_auc.back())) known.push_back(r.class_auc.back());
  }
  if (!known.empty()) r.auc = mean_and_sd(known).mean;
}

void add_ablations(const GluModel& model, const Directions& d, const std::vector<Spectrum>& spectra,
                   const GateTerms& line, ConstMatrixView<float> x, RunReadability& r) {
  std::vector<double> correlations, slopes;
  for (size_t u = 0; u < d.count(); u++) {
    Directions one{
        .layer = d.layer, .names = {d.names[u]}, .weights = Matrix<double>(1, d.weights.cols()), .constants = {}};
    std::ranges::copy(d.weights.view().row(u), one.weights.data());
    const Matrix<double> basis = input_basis(model.layer(d.layer), spectra[u].vectors);
    const OutputChanges changes = output_changes(model, one, line, x, ablated_inputs(model.linalg(), x, basis, 0));
    r.ablations.push_back(change_fit(changes, 0));
    correlations.push_back(r.ablations.back().correlation), slopes.push_back(r.ablations.back().slope);
  }
  r.ablation_r = mean_and_sd(correlations).mean, r.ablation_slope = mean_and_sd(slopes).mean;
}

// What the eigenvectors are, before anything is measured.
std::vector<Spectrum> begin(Run& run, const ReadabilityRequest& q, const Directions& d, ReadableRun& e) {
  RunReadability& r = e.result;
  r.run = run.directory(), r.model_text = run.text(), r.kind = run.kind();
  r.gate = gate_info(run.gate()).text.name;
  r.seed = run_seed(r.run), r.form = run.form(q.form);
  r.layer = d.layer;
  r.data = run.data_name();
  std::vector<GateTerms> lines(run.reading().layers());  // below the layer of a language model nothing is read
  if (r.kind == ModelKind::image)
    lines = run.lines(r.form);
  else
    lines[d.layer] = run.line(r.form, d.layer);
  std::vector<Spectrum> spectra = leading_spectra(run.reading(), d, lines[d.layer]);
  e.leading = as_seen(run, d.layer, spectra, lines);
  if (run.info().run.is_object()) {
    Json identity = run.info().run["identity"];
    identity["options"].erase("seed");
    e.options = identity.dump() + " " + name(r.form);
  }
  return spectra;
}

ReadableRun read_run(const Engine& engine, const ReadabilityRequest& q, Run& run) {
  ReadableRun e;
  RunReadability& r = e.result;
  const Directions d = asked(run, q);
  const std::vector<Spectrum> spectra = begin(run, q, d, e);
  const Activations a = run.measured(d.layer);
  engine.check_stop();
  if (r.kind == ModelKind::image) {
    for (size_t c = 0; c < d.count(); c++) r.directions.push_back(run.image().class_text(c));
    add_pictures(engine, e.leading, r);
    add_auc(spectra, a.inputs, a.labels, r);
  } else {
    r.directions = d.names;
  }
  add_ablations(run.reading(), d, spectra, run.line(r.form, d.layer), a.inputs, r);
  engine.check_stop();
  r.stability_halves = halves(run, d, r.form);
  return e;
}

// Every run with the others that differ in their seed alone.
void compare_seeds(const LinearAlgebra& linalg, std::vector<ReadableRun>& entries, ReadabilityResult& result) {
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t i = 0; i < entries.size(); i++)
    if (!entries[i].options.empty()) groups[entries[i].options].push_back(i);
  for (const auto& [options, members] : groups) {
    for (const size_t i : members) {
      std::vector<double> all;
      for (const size_t j : members) {
        if (entries[i].result.seed == entries[j].result.seed) continue;
        entries[i].result.other_seeds++;
        if (const auto v = mean_likeness(linalg, entries[i].leading, entries[j].leading)) all.push_back(*v);
      }
      if (!all.empty()) entries[i].result.stability_seeds = mean_and_sd(all).mean;
    }
    if (members.size() > 1) result.groups.push_back({members});
  }
  std::ranges::sort(result.groups, {}, [](const SeedGroup& g) { return g.runs[0]; });
}

// Every run of the request, opened; those on the same images load them once.
void for_runs(const Engine& engine, const ReadabilityRequest& q, const std::function<void(Run&)>& use) {
  std::shared_ptr<const Dataset> shared;
  for (const std::string& directory : runs_in(q.runs)) {
    engine.check_stop();
    RunSource source = q.source;
    source.run = directory;
    const std::unique_ptr<Run> run = open_run(engine, source, shared);
    check_request(q, *run);
    use(*run);
    if (run->kind() == ModelKind::image) shared = run->image().share_images();
  }
}

}  // namespace

std::vector<Field> fields_of(ReadabilityRequest& q) {
  std::vector<Field> along = fields_of(q.along);
  for (Field& f : along) f.language();  // of images every class is measured
  std::vector<Field> shared = join(fields_of(q.source), std::move(along));
  std::erase_if(shared, [](const Field& f) {
    return f.name == "run" || f.name == "refine" || f.name == "unit" || f.name == "via";
  });
  return join(
      {Field("runs", q.runs, "Runs, folders with one run per seed, or language models of other programs")
           .directory()
           .argument("RUN")
           .required(),
       Field("form", q.form, "The form whose eigenvectors are measured").one_of(form_words()),
       Field("layer", q.layer, "Language models: which layer, from 1 on; default: the last").range(1, 1000).language()},
      std::move(shared));
}

std::vector<std::optional<double>> seed_stability(const Engine& engine, const ReadabilityRequest& q) {
  check_ranges(q);
  std::vector<ReadableRun> entries;
  for_runs(engine, q, [&](Run& run) { begin(run, q, asked(run, q), entries.emplace_back()); });
  ReadabilityResult groups;
  compare_seeds(engine.linalg(), entries, groups);
  std::vector<std::optional<double>> out;
  for (const ReadableRun& e : entries) out.push_back(e.result.stability_seeds);
  return out;
}

std::optional<double> half_stability(const Engine& engine, const ReadabilityRequest& q) {
  check_ranges(q);
  std::optional<double> out;
  ReadabilityRequest first = q;
  first.runs.resize(1);
  for_runs(engine, first, [&](Run& run) { out = halves(run, asked(run, q), run.form(q.form)); });
  return out;
}

ReadabilityResult readability(const Engine& engine, const ReadabilityRequest& q) {
  check_ranges(q);
  ReadabilityResult result;
  result.linalg = engine.linalg().description();
  std::vector<ReadableRun> entries;
  const size_t count = runs_in(q.runs).size();
  for_runs(engine, q, [&](Run& run) {
    entries.push_back(read_run(engine, q, run));
    engine.progress({.label = "readability", .done = entries.size(), .total = count, .unit = "runs"});
  });
  compare_seeds(engine.linalg(), entries, result);
  for (ReadableRun& e : entries) result.runs.push_back(std::move(e.result));
  return result;
}

OrderedJson to_json(const ReadabilityResult& result) {
  OrderedJson j = {{"schema", "glint-readability/1"}, {"linalg", result.linalg}};
  const auto known = [](const std::optional<double>& v) { return v ? OrderedJson(*v) : OrderedJson(); };
  j["runs"] = OrderedJson::array();
  for (const RunReadability& r : result.runs) {
    OrderedJson one = {{"run", r.run},
                       {"kind", r.kind == ModelKind::language ? "language" : "image"},
                       {"gate", r.gate},
                       {"seed", r.seed ? OrderedJson(*r.seed) : OrderedJson()},
                       {"data", r.data},
                       {"form", name(r.form)},
                       {"layer", r.layer + 1},
                       {"distinct_pictures", known(r.distinct_pictures)},
                       {"pictures", r.pictures},
                       {"auc", known(r.auc)},
                       {"ablation_r", r.ablation_r},
                       {"ablation_slope", r.ablation_slope},
                       {"stability_halves", known(r.stability_halves)},
                       {"stability_seeds", known(r.stability_seeds)},
                       {"other_seeds", r.other_seeds}};
    one["directions"] = OrderedJson::array();
    for (size_t u = 0; u < r.directions.size(); u++) {
      OrderedJson d = {{"name", r.directions[u]}};
      if (!r.class_auc.empty()) d["auc"] = number_or_null(r.class_auc[u]);
      d["ablation_r"] = r.ablations[u].correlation;
      d["ablation_slope"] = r.ablations[u].slope;
      one["directions"].push_back(std::move(d));
    }
    j["runs"].push_back(std::move(one));
  }
  j["groups"] = OrderedJson::array();  // of the list `runs`, from 0
  for (const SeedGroup& g : result.groups) j["groups"].push_back(g.runs);
  return j;
}

}  // namespace glint
