#include "glint/lab/compare.h"

#include <algorithm>
#include <map>
#include <optional>

#include "glint/base/error.h"
#include "glint/lab/controls.h"
#include "glint/lab/run.h"
#include "glint/lab/run_pairs.h"

namespace glint {
namespace {

// All pairs among so many bilinear runs; of more, the first.
constexpr size_t kControlRuns = 10;
constexpr size_t kRandomControls = 10;

struct Entry {
  ComparedModel model;
  std::unique_ptr<Run> run;
  std::vector<GateLine> lines;
  ModelVectors vectors;
  std::optional<FunctionalForms> functional;  // of the chosen classes
};

// Runs by directory, each opened and decomposed once; data sets that several were trained on are loaded once.
class Runs {
 public:
  Runs(const Engine& engine, const CompareRequest& options) : engine_(engine), options_(options) {}

  Entry& open(const std::string& directory) {
    if (const auto found = entries_.find(directory); found != entries_.end()) return found->second;
    Entry entry;
    RunSource source{
        .run = directory, .data = options_.data, .data_dir = options_.data_dir, .images = options_.images};
    entry.run = std::make_unique<Run>(engine_, source, data_);
    data_ = entry.run->share_images();
    const std::string form_name = entry.run->form(options_.form);
    if (options_.refine && form_name == "scaled") {
      source.refine = refined_ = true;
      entry.run = std::make_unique<Run>(engine_, source, data_);
    }
    const ImageModel& m = entry.run->image().model;
    entry.model = {.directory = directory,
                   .gate = std::string(gate_info(m.config.gate.kind).text.name),
                   .data = m.data,
                   .seed = run_seed(directory),
                   .width = m.config.d_model,
                   .layers = m.config.layers,
                   .form = form_name,
                   .fidelity = {}};
    if (!first_) {
      units_ = parse_class_list(options_.unit, m.class_names);
    } else {
      fits(entry);
    }
    const ImageReading& reading = entry.run->image_reading();
    entry.lines = entry.run->lines(form_name);
    const Directions all = reading.classes();
    const ImageSet& test = entry.run->images().test;
    const Activations pass = reading.run(test, reading.last());
    Reading form = reading.read(all, entry.lines[reading.last()], pass, labels_of(test));
    entry.model.fidelity = form.fidelity;
    if (options_.controls) entry.model.controls = controls(*entry.run, form_name, pass);
    Directions chosen{.layer = all.layer,
                      .names = {},
                      .weights = Matrix<double>(units_.size(), all.weights.cols()),
                      .constants = {}};
    for (size_t u = 0; u < units_.size(); u++) {
      chosen.names.push_back(all.names[units_[u]]);
      std::ranges::copy(all.weights.view().row(units_[u]), chosen.weights.view().row_ptr(u));
    }
    entry.vectors = model_vectors(reading, chosen, entry.lines, space(), options_.top);
    std::vector<UnitForm> units;
    for (const size_t u : units_) units.push_back(std::move(form.units[u]));
    if (space() == CompareSpace::input)
      entry.functional = functional_forms(engine_.linalg(), units, reading.layer(reading.last()).inputs());
    else if (reading.layers() == 1)
      entry.functional = functional_forms(engine_.linalg(), units, reading.input_map());
    Entry& kept = entries_.emplace(directory, std::move(entry)).first->second;
    if (!first_) first_ = &kept;
    return kept;
  }

  CompareSpace space() const {
    return options_.space == "input" ? CompareSpace::input : CompareSpace::pixels;
  }
  const std::vector<size_t>& units() const { return units_; }
  const Entry& first() const { return *first_; }
  bool refined() const { return refined_; }

 private:
  // Runs of one configuration share an untrained twin: its weights are those of one seed.
  Controls controls(Run& run, const std::string& form, const Activations& pass) {
    const std::string key = form + " " + run.config().dump();
    const auto twin = untrained_.find(key);
    const auto classes = [](Run& of) { return of.image_reading().classes(); };
    Controls out =
        controls_of(run, classes, twin == untrained_.end() ? std::vector{form} : std::vector<std::string>{},
                    pass, labels_of(run.images().test));
    if (twin == untrained_.end())
      untrained_[key] = out.untrained.at(form);
    else
      out.untrained[form] = twin->second;
    return out;
  }

  void fits(const Entry& entry) const {
    const ImageModel &one = first_->run->image().model, &other = entry.run->image().model;
    const auto refuse = [&](const std::string& what, const std::string& expected,
                            const std::string& hint = {}) {
      throw Error({.code = ErrorCode::usage,
                   .what = what,
                   .where = first_->model.directory + " and " + entry.model.directory,
                   .expected = expected,
                   .hint = hint});
    };
    const auto size = [](const ImageModel& m) {
      return m.height > 0 ? std::to_string(m.height) + " x " + std::to_string(m.width)
                          : std::to_string(m.config.inputs);
    };
    if (one.height != other.height || one.width != other.width || one.config.inputs != other.config.inputs)
      refuse((one.height > 0 && other.height > 0 ? "the models read pictures of different size, "
                                                 : "the models read samples of different size, ") +
                 size(one) + " and " + size(other),
             "models of one picture size");
    if (one.config.classes != other.config.classes)
      refuse("the models know " + std::to_string(one.config.classes) + " and " +
                 std::to_string(other.config.classes) + " classes",
             "models of the same classes");
    const size_t width = first_->run->image_reading().layer(first_->run->image_reading().last()).width(),
                 other_width = entry.run->image_reading().layer(entry.run->image_reading().last()).width();
    if (space() == CompareSpace::input && width != other_width)
      refuse("the inputs of the last layers have different widths, " + std::to_string(width) + " and " +
                 std::to_string(other_width),
             "one width for `space=input`", "`space=pixels` compares models of any width");
  }

  const Engine& engine_;
  const CompareRequest& options_;
  std::shared_ptr<const Dataset> data_;
  std::map<std::string, Entry> entries_;
  const Entry* first_ = nullptr;
  std::vector<size_t> units_;
  std::map<std::string, Fidelity> untrained_;  // by form and configuration
  bool refined_ = false;                       // a run is
};

// Bilinear runs with seeds of their own: those of the second side, or else of the first.
std::vector<std::string> bilinear_runs(const Comparison& c) {
  for (const std::vector<ComparedModel>* side : {&c.b, &c.a}) {
    std::vector<std::string> runs;
    std::vector<uint64_t> seeds;
    for (const ComparedModel& m : *side) {
      if (m.gate != "identity" || !m.seed || std::ranges::count(seeds, *m.seed) > 0) continue;
      if (m.data != side->front().data || m.width != side->front().width || m.layers != side->front().layers)
        continue;
      seeds.push_back(*m.seed);
      runs.push_back(m.directory);
    }
    if (runs.size() >= 2) return runs;
  }
  return {};
}

void add_functional(const Engine& engine, const Entry& a, const Entry& b,
                    std::vector<FunctionalSimilarity>& out) {
  if (a.functional && b.functional)
    out.push_back(functional_similarity(engine.linalg(), *a.functional, *b.functional));
}

bool compared(const Comparison& c, const std::string& x, const std::string& y) {
  for (size_t i = 0; i < c.a.size(); i++)
    if ((c.a[i].directory == x && c.b[i].directory == y) || (c.a[i].directory == y && c.b[i].directory == x))
      return true;
  return false;
}

// Without better: random directions in the place of the eigenvectors of both models of the first pair.
void add_random_control(const Engine& engine, const CompareRequest& options, const Entry& a, const Entry& b,
                        CompareSpace space, size_t units, Comparison& c) {
  for (uint64_t i = 0; i < kRandomControls; i++)
    c.control.push_back(compare_models(
        engine.linalg(), engine.pool(),
        random_vectors(a.run->image_reading(), units, a.lines, space, options.top, 2 * i),
        random_vectors(b.run->image_reading(), units, b.lines, space, options.top, 2 * i + 1), options.top));
  c.random_control = true;
  c.control_text = "random orthonormal directions in the place of the eigenvectors, " +
                   std::to_string(kRandomControls) + " draws";
}

void add_control(const Engine& engine, const CompareRequest& options, Runs& runs, Comparison& c) {
  std::vector<std::string> control =
      options.control.empty() ? bilinear_runs(c) : listed_runs(options.control);
  if (control.size() > kControlRuns) control.resize(kControlRuns);
  bool all_bilinear = true, all_different = true;
  for (size_t i = 0; i < control.size(); i++)
    for (size_t j = 0; j < i; j++) {
      if (options.control.empty() && compared(c, control[j], control[i])) continue;
      const Entry &x = runs.open(control[j]), &y = runs.open(control[i]);
      all_bilinear = all_bilinear && x.model.gate == "identity" && y.model.gate == "identity";
      all_different = all_different && x.model.seed && y.model.seed && x.model.seed != y.model.seed;
      c.control.push_back(compare_models(engine.linalg(), engine.pool(), x.vectors, y.vectors, options.top));
      add_functional(engine, x, y, c.functional_control);
    }
  if (c.control.empty()) {
    add_random_control(engine, options, runs.open(c.a[0].directory), runs.open(c.b[0].directory),
                       runs.space(), runs.units().size(), c);
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

Comparison compare_runs(const Engine& engine, const CompareRequest& options) {
  Comparison c;
  c.linalg = engine.linalg().description();
  c.space = options.space, c.top = options.top;
  const std::vector<RunPair> pairs = run_pairs(options.runs, c.notes);
  Runs runs(engine, options);
  for (const RunPair& pair : pairs) {
    engine.check_stop();
    const Entry &a = runs.open(pair.a), &b = runs.open(pair.b);
    c.a.push_back(a.model);
    c.b.push_back(b.model);
    c.results.push_back(compare_models(engine.linalg(), engine.pool(), a.vectors, b.vectors, options.top));
    add_functional(engine, a, b, c.functional);
  }
  for (const std::vector<ComparedModel>* side : {&c.a, &c.b})
    for (const ComparedModel& m : *side)
      if (c.form.find(m.form) == std::string::npos) c.form += (c.form.empty() ? "" : " and ") + m.form;
  if (options.refine && !runs.refined())
    throw Error({.code = ErrorCode::usage,
                 .what = "there is nothing to refine: no run is read through its scaled form",
                 .where = "refine",
                 .expected = "`form=scaled`, or `form=auto` and a run with an odd gate"});
  c.units = runs.units();
  for (const size_t u : c.units) c.unit_names.push_back(runs.first().run->class_text(u));
  add_control(engine, options, runs, c);

  // Strongest first on both sides: the negative ones come last in the order of the values.
  const auto strongest_first = [](const ModelVectors& m, size_t unit, size_t& positive) {
    const std::vector<double>& values = m.values[unit];
    positive = static_cast<size_t>(std::ranges::count_if(values, [](double v) { return v > 0; }));
    Matrix<double> out = m.vectors[unit];
    for (size_t i = positive; i < out.rows(); i++)
      std::ranges::copy(m.vectors[unit].view().row(out.rows() - 1 - (i - positive)), out.view().row_ptr(i));
    return out;
  };
  const Entry &a = runs.open(pairs[0].a), &b = runs.open(pairs[0].b);
  for (size_t u = c.units.size(); u-- > 0;)
    c.matrices.push_back(similarity(engine.linalg(), strongest_first(a.vectors, u, c.positive_rows),
                                    strongest_first(b.vectors, u, c.positive_columns)));
  std::ranges::reverse(c.matrices);
  return c;
}

}  // namespace glint
