#include "glint/paper/measured.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/paper/plan.h"

namespace glint {
namespace {

std::vector<double> values(const std::vector<RunCurve>& runs, size_t checkpoint, double CurvePoint::*member) {
  std::vector<double> out;
  for (const RunCurve& r : runs) out.push_back(r.at[checkpoint].*member);
  return out;
}

class Checker {
 public:
  explicit Checker(const std::string& where) : where_(where) {}

  void demand(bool good, const std::string& what, const std::string& expected) const {
    if (good) return;
    bad_file(where_ + ", " + what, "measured numbers do not fit together", expected);
  }
  template <class T>
  void length(const std::vector<T>& list, size_t n, const std::string& what) const {
    demand(list.size() == n, what, "a list of " + std::to_string(n));
  }
  // A name that becomes part of a file name.
  void plain(const std::string& name, const std::string& what) const {
    demand(!name.empty() && name.find_first_of("/\\") == name.npos && name.front() != '.', what, "a plain name");
  }
  void gate(const std::string& name, const std::string& what) const {
    demand(std::ranges::find(kPaperGates, name) != kPaperGates.end(), what, "a gate of the paper");
  }

 private:
  const std::string& where_;
};

void check(const Checker& c, const TaskRuns& task) {
  c.plain(task.data, "tasks");
  c.demand(!task.gates.empty(), "tasks", "gates in each");
  for (const GateRuns& g : task.gates) {
    c.gate(g.gate, "tasks.gates");
    c.demand(!g.runs.empty(), "tasks.gates", "runs in each");
    for (const RunCurve& r : g.runs) {
      c.demand(!r.points.empty(), "tasks.gates.runs", "points in each");
      c.demand(std::ranges::is_sorted(r.points, {}, &CurvePoint::step), "tasks.gates.runs.points", "ascending steps");
      for (const CurvePoint& p : r.points)  // both are drawn on logarithmic scales
        c.demand(p.loss > 0 && p.metric >= 0, "tasks.gates.runs.points", "losses above 0");
    }
  }
}

void check(const Checker& c, const SimilarityCurve& s) {
  c.plain(s.data, "similarity"), c.plain(s.form, "similarity"), c.plain(s.space, "similarity");
  for (const std::vector<double>* list : {&s.sd, &s.min, &s.pair_sd})
    c.length(*list, s.mean.size(), "similarity " + s.measure);
  c.length(s.control_sd, s.control.size(), "similarity " + s.measure + ", control");
}

void check(const Checker& c, const SpectrumShare& s) {
  c.gate(s.gate, "spectra");
  for (const std::vector<double>* list : {&s.few_accuracy_by_seed, &s.all_accuracy_by_seed})
    c.length(*list, s.seeds, "spectra");
  c.length(s.energy_by_seed, s.seeds, "spectra.energy_by_seed");
  for (const std::vector<double>& seed : s.energy_by_seed) c.length(seed, s.energy.size(), "spectra.energy_by_seed");
}

void check(const Checker& c, const FormTrust& t) {
  c.gate(t.gate, "trust");
  for (const std::vector<double>* list :
       {&t.r2, &t.correlation, &t.accuracy_model_by_seed, &t.accuracy_form_by_seed, &t.r2_centred, &t.r2_scaled})
    c.length(*list, t.agreement.size(), "trust");
  for (const std::vector<double>* list :
       {&t.eigenvectors_agreement, &t.eigenvectors_r2, &t.even_share, &t.untrained_agreement, &t.untrained_r2})
    c.length(*list, t.form == kLinearMap ? 0 : t.agreement.size(), "trust");
}

void check(const Checker& c, const ClassMatch& m) {
  c.gate(m.gate, "matches");
  c.plain(m.data, "matches");
  for (const std::vector<double>* list : {&m.cosine, &m.twins}) c.length(*list, m.matched.size(), "matches");
}

void check(const Checker& c, const GateChoice& g) {
  c.plain(g.data, "choices");
  c.demand(!g.loss.empty(), "choices", "runs in each");
  for (const std::vector<double>* list : {&g.accuracy, &g.agreement, &g.r2, &g.matched})
    c.length(*list, g.loss.size(), "choices");
}

void check(const Checker& c, const LanguageLayer& l) {
  c.gate(l.gate, "language");
  c.plain(l.data, "language"), c.plain(l.form, "language");
  c.demand(l.layer > 0 && l.seeds > 0 && l.directions > 0, "language", "numbers above 0");
}

void check(const Checker& c, PictureSize size, const std::string& what) {
  c.demand(size.height > 0 && size.width > 0 && size.height <= 4096 && size.width <= 4096, what + ".size",
           "1 to 4096 pixels each way");
}

void check(const Checker& c, const ModelPictures& model) {
  c.plain(model.data, "pictures");
  check(c, model.size, "pictures");
  for (const ClassSpectrum& s : model.classes) {
    c.demand(!s.values.empty(), "pictures.classes", "eigenvalues in each");
    c.length(s.groups, s.values.size(), "pictures.classes.groups");
    for (const auto* side : {&s.positive, &s.negative})
      for (const SignedPicture& p : *side)
        c.length(p.pixels, model.size.height * model.size.width, "pictures.classes.pixels");
  }
}

void check(const Checker& c, const Explanation& e) {
  check(c, e.size, "explained");
  const size_t pixels = e.size.height * e.size.width;
  c.length(e.input, pixels, "explained.input");
  c.demand(!e.logits.empty(), "explained.logits", "one per class");
  c.length(e.class_names, e.logits.size(), "explained.class_names");
  c.length(e.probabilities, e.logits.size(), "explained.probabilities");
  c.demand(!e.classes.empty(), "explained.classes", "at least one class");
  for (const ExplainedClass& k : e.classes) {
    if (!k.linear_pixels.empty()) c.length(k.linear_pixels, pixels, "explained.classes.linear_pixels");
    for (const auto* side : {&k.forward, &k.against})
      for (const ExplainedTerm& term : *side) c.length(term.pixels, pixels, "explained.classes.pixels");
  }
}

}  // namespace

std::vector<double> GateRuns::loss(size_t checkpoint) const { return values(runs, checkpoint, &CurvePoint::loss); }

std::vector<double> GateRuns::metric(size_t checkpoint) const { return values(runs, checkpoint, &CurvePoint::metric); }

std::vector<double> GateRuns::train_loss(size_t checkpoint) const {
  return values(runs, checkpoint, &CurvePoint::train_loss);
}

const GateRuns* TaskRuns::find(std::string_view gate) const {
  for (const GateRuns& g : gates)
    if (g.gate == gate) return &g;
  return nullptr;
}

const TaskRuns* Measured::task(std::string_view data, std::string_view norm) const {
  for (const TaskRuns& t : tasks)
    if (t.data == data && t.norm == norm) return &t;
  return nullptr;
}

const ModelPictures* Measured::pictures_of(std::string_view data) const {
  for (const ModelPictures& p : pictures)
    if (p.data == data) return &p;
  return nullptr;
}

PairedDifference paired_at(const TaskRuns& task, std::string_view gate, std::string_view rival, Quantity quantity,
                           size_t checkpoint) {
  std::vector<double> a, b;
  const GateRuns *first = task.find(gate), *second = task.find(rival);
  if (first && second)
    for (const RunCurve& x : first->runs)
      for (const RunCurve& y : second->runs)
        if (x.seed == y.seed) {
          const auto take = [&](const RunCurve& r) {
            return quantity == Quantity::loss ? r.at[checkpoint].loss : r.at[checkpoint].metric;
          };
          a.push_back(take(x));
          b.push_back(take(y));
        }
  return paired_difference(a, b);
}

void check_measured(const Measured& m, const std::string& where) {
  const Checker c(where);
  c.demand(m.what == "all" || std::ranges::any_of(experiments(), [&](const Experiment& e) { return e.name == m.what; }),
           "what", "all, or one experiment");
  for (const std::string& data : m.images) c.plain(data, "images");
  for (const MeasuredRun& run : m.runs)
    c.demand(run.finished() || run.failed() || run.state == "not run", "runs.state", "finished, failed or not run");
  for (const TaskRuns& task : m.tasks) check(c, task);
  for (const SimilarityCurve& s : m.similarity) check(c, s);
  for (const SpectrumShare& s : m.spectra) check(c, s);
  for (const FormTrust& t : m.trust) check(c, t);
  for (const TimedGate& t : m.times) c.demand(t.median_ms > 0 && t.batch > 0 && t.width > 0, "times", "times above 0");
  for (const DepthPoint& p : m.depth) {
    c.gate(p.gate, "depth");
    c.length(p.loss, p.accuracy.size(), "depth.loss");
    c.demand(p.classes > 0, "depth.classes", "at least one");
  }
  for (const FormulaCheck& f : m.formulas) c.demand(!f.numbers.empty(), "formulas", "numbers in each");
  for (const ClassMatch& match : m.matches) check(c, match);
  for (const GateChoice& choice : m.choices) check(c, choice);
  for (const LanguageLayer& layer : m.language) check(c, layer);
  for (const ModelPictures& model : m.pictures) check(c, model);
  if (m.explained) check(c, m.explained->explanation);
  for (const StorySample& s : m.samples) c.gate(s.gate, "samples");
}

}  // namespace glint
