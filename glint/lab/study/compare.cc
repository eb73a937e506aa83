#include "glint/lab/study/compare.h"

#include <algorithm>
#include <memory>

#include "glint/base/error.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/read_request.h"
#include "glint/lab/study/compare_parts.h"
#include "glint/lab/study/run_pairs.h"

namespace glint {
namespace {

// All pairs among so many bilinear runs; of more, the first.
constexpr size_t kControlRuns = 10;
constexpr size_t kRandomControls = 10;

// Bilinear runs with seeds of their own: those of the second side, or else of the first.
std::vector<std::string> bilinear_runs(const Comparison& c) {
  for (const std::vector<ComparedModel>* side : {&c.b, &c.a}) {
    std::vector<std::string> runs;
    std::vector<uint64_t> seeds;
    for (const ComparedModel& m : *side) {
      if (m.gate != "identity" || !m.seed || std::ranges::count(seeds, *m.seed) > 0) continue;
      if (m.data != side->front().data || m.width != side->front().width || m.layers != side->front().layers) continue;
      seeds.push_back(*m.seed);
      runs.push_back(m.directory);
    }
    if (runs.size() >= 2) return runs;
  }
  return {};
}

bool compared(const Comparison& c, const std::string& x, const std::string& y) {
  for (size_t i = 0; i < c.a.size(); i++)
    if ((c.a[i].directory == x && c.b[i].directory == y) || (c.a[i].directory == y && c.b[i].directory == x))
      return true;
  return false;
}

// Without better: random directions in the place of the eigenvectors of both models of the first pair.
void add_random_control(const Engine& engine, const CompareRequest& options, Comparer& runs, Comparison& c) {
  for (uint64_t i = 0; i < kRandomControls; i++) {
    engine.check_stop();
    const PairVectors v = runs.random(c.a[0].directory, c.b[0].directory, i);
    c.control.push_back(compare_models(engine.linalg(), engine.pool(), v.a, v.b, options.show));
  }
  c.random_control = true;
  c.control_text =
      "random orthonormal directions in the place of the eigenvectors, " + std::to_string(kRandomControls) + " draws";
}

void add_control(const Engine& engine, const CompareRequest& options, Comparer& runs, Comparison& c) {
  std::vector<std::string> control = options.control.empty() ? bilinear_runs(c) : listed_runs(options.control);
  if (control.size() > kControlRuns) control.resize(kControlRuns);
  bool all_bilinear = true, all_different = true;
  for (size_t i = 0; i < control.size(); i++)
    for (size_t j = 0; j < i; j++) {
      if (options.control.empty() && compared(c, control[j], control[i])) continue;
      const ComparedModel &x = runs.open(control[j]), &y = runs.open(control[i]);
      all_bilinear = all_bilinear && x.gate == "identity" && y.gate == "identity";
      all_different = all_different && x.seed && y.seed && x.seed != y.seed;
      const PairVectors v = runs.vectors(control[j], control[i]);
      c.control.push_back(compare_models(engine.linalg(), engine.pool(), v.a, v.b, options.show));
      if (const auto f = runs.functional(control[j], control[i])) c.functional_control.push_back(*f);
    }
  if (c.control.empty()) {
    add_random_control(engine, options, runs, c);
    c.notes.push_back(
        "the control is random; a real one is two bilinear runs with different seeds: given as control X,Y, "
        "or in folders with several seeds");
    return;
  }
  const size_t n = c.control.size();
  c.control_text = std::to_string(n) + (n == 1 ? " pair of " : " pairs of ") +
                   (all_bilinear ? "bilinear runs" : "the runs given as control") +
                   (all_different ? " with different seeds" : "");
  if (!all_bilinear || !all_different)
    c.notes.push_back("the control should be bilinear runs with different seeds; it is not");
}

}  // namespace

std::vector<Field> fields_of(CompareRequest& q) {
  std::vector<Field> source = fields_of(q.source);
  std::erase_if(source, [](const Field& f) { return f.name == "run"; });
  return join({Field("runs", q.runs,
                     "Run directories, language models of other programs, or folders with one run per seed; at least "
                     "two")
                   .directory()
                   .argument("RUN")},
              join(std::move(source),
                   {Field("control", q.control,
                          "Runs to compare with each other as control, with commas between, or a folder of seeds")
                        .directory("RUN,RUN|DIR"),
                    Field("unit", q.unit, "Images: classes: all, 3, 3..5, or 0,2,7..9").shown("LIST").images(),
                    Field("form", q.form,
                          "How gates are read. weights: odd gates as the identity (the paper), ReLU, GELU and SiLU as "
                          "half of it; scaled, calibrated: by lines measured on data; auto: scaled for odd gates, "
                          "calibrated for others")
                        .one_of(form_words()),
                    Field("layer", q.layer, "Language models: which layer, from 1 on; default: the last of each")
                        .range(1, 1000)
                        .language(),
                    Field("token", q.token, "Language models: tokens, with commas between; default: 12 frequent ones")
                        .shown("WORDS")
                        .language(),
                    Field("space", q.space,
                          "Compare pictures of the eigenvectors, their products with token embeddings, or the vectors "
                          "at the input of the last layer (same width; means something when the runs began alike, with "
                          "the same seed)")
                        .one_of({"auto", "pixels", "tokens", "input"}),
                    Field("show", q.show, "Eigenvectors of each sign").range(1, 64), figures_field(q.figures),
                    out_field(q.out, "Where the folder figures goes; default: the first run")}));
}

Comparison compare_runs(const Engine& engine, const CompareRequest& options) {
  Comparison c;
  c.linalg = engine.linalg().description();
  c.top = options.show;
  const std::vector<RunPair> pairs = run_pairs(options.runs, c.notes);
  c.language = run_kind(pairs[0].a) == ModelKind::language;
  for (const RunPair& pair : pairs)
    for (const std::string& run : {pair.a, pair.b})
      if ((run_kind(run) == ModelKind::language) != c.language)
        bad_argument(pairs[0].a + " and " + run, "an image model and a language model cannot be compared",
                     "models of one kind");
  check_request(options, ModelTraits{.language = c.language}, pairs[0].a);
  const std::unique_ptr<Comparer> runs =
      c.language ? language_comparer(engine, options) : image_comparer(engine, options);
  for (const RunPair& pair : pairs) {
    engine.check_stop();
    c.a.push_back(runs->open(pair.a));
    c.b.push_back(runs->open(pair.b));
    const PairVectors v = runs->vectors(pair.a, pair.b);
    c.results.push_back(compare_models(engine.linalg(), engine.pool(), v.a, v.b, options.show));
    if (const auto f = runs->functional(pair.a, pair.b)) c.functional.push_back(*f);
  }
  for (const std::vector<ComparedModel>* side : {&c.a, &c.b})
    for (const ComparedModel& m : *side)
      if (c.form.find(name(m.form)) == std::string::npos) c.form += (c.form.empty() ? "" : " and ") + name(m.form);
  if (options.source.refine && !runs->refined())
    bad_argument("refine", "there is nothing to refine: no run is read through its scaled form",
                 "`form=scaled`, or `form=auto` and a run with an odd gate");
  c.units = runs->units(), c.unit_names = runs->unit_names(), c.space = runs->space_name();
  c.space_text = runs->space_text();
  for (const std::string& note : runs->notes()) c.notes.push_back(note);
  add_control(engine, options, *runs, c);

  // Strongest first on both sides: the negative ones come last in the order of the values.
  const auto strongest_first = [](const ModelVectors& m, size_t unit, size_t& positive) {
    const std::vector<double>& values = m.values[unit];
    positive = static_cast<size_t>(std::ranges::count_if(values, [](double v) { return v > 0; }));
    Matrix<double> out = m.vectors[unit];
    for (size_t i = positive; i < out.rows(); i++)
      std::ranges::copy(m.vectors[unit].view().row(out.rows() - 1 - (i - positive)), out.view().row_ptr(i));
    return out;
  };
  const PairVectors v = runs->vectors(pairs[0].a, pairs[0].b);
  for (size_t u = c.units.size(); u-- > 0;)
    c.matrices.push_back(similarity(engine.linalg(), strongest_first(v.a, u, c.positive_rows),
                                    strongest_first(v.b, u, c.positive_columns)));
  std::ranges::reverse(c.matrices);
  return c;
}

}  // namespace glint
