#include "glint/lab/study/ablate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/io/json.h"
#include "glint/lab/models/text_losses.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/read/read_request.h"
#include "glint/lab/study/ablate_parts.h"
#include "glint/nn/softmax.h"

namespace glint {
namespace {

struct Outcome {
  Score all;
  std::vector<Score> classes;
  std::vector<double> outputs;  // of every class, over its own inputs; images: the logit
};

// A model with its data: what it does as it is, and with some of what a layer reads taken out.
class Subject {
 public:
  virtual ~Subject() = default;
  // With orthonormal directions [k, d] of what the layer reads scaled by `keep`.
  virtual Outcome with(ConstMatrixView<double> basis, double keep) = 0;
  // The class or token of every input of the layer; `classes` where it is none of them.
  std::vector<uint32_t> label;
  std::vector<std::string> classes;
};

void add(Score& s, double loss, bool correct) {
  if (s.inputs++ == 0) s.accuracy = 0;
  s.loss += loss, s.accuracy += correct;
}

void finish(Score& s) {
  if (s.inputs == 0) return;
  s.loss /= static_cast<double>(s.inputs), s.accuracy /= static_cast<double>(s.inputs);
}

class ImageSubject : public Subject {
 public:
  ImageSubject(const Engine& engine, ImageRun& run, size_t layer)
      : engine_(engine), run_(run), layer_(layer), model_(run.model()) {
    label = run.images().test.labels;
    for (size_t c = 0; c < model_.config.classes; c++) classes.push_back(run.class_text(c));
  }
  Outcome with(ConstMatrixView<double> basis, double keep) override {
    model_.weights = ablated_weights(run_, layer_, basis, keep);
    const ImageReading reading(model_, engine_.compute(), engine_.linalg());
    const Activations a = reading.run(run_.images().test, reading.last());
    Outcome out{.all = {}, .classes = std::vector<Score>(classes.size()), .outputs = {}};
    out.outputs.resize(classes.size());
    for (size_t i = 0; i < label.size(); i++) {
      const std::span<const float> logits = a.logits.view().row(i);
      const size_t said = static_cast<size_t>(std::ranges::max_element(logits) - logits.begin());
      const double loss = log_sum_exp(logits) - static_cast<double>(logits[label[i]]);
      add(out.all, loss, said == label[i]);
      add(out.classes[label[i]], loss, said == label[i]);
      out.outputs[label[i]] += static_cast<double>(logits[label[i]]);
    }
    finish(out.all);
    for (size_t c = 0; c < classes.size(); c++) {
      if (out.classes[c].inputs) out.outputs[c] /= static_cast<double>(out.classes[c].inputs);
      finish(out.classes[c]);
    }
    return out;
  }

 private:
  const Engine& engine_;
  ImageRun& run_;
  size_t layer_;
  ImageModel model_;
};

// The stories that readings are measured on. The weights stay as they are: what the layer reads is changed on
// the way.
class TextSubject : public Subject {
 public:
  TextSubject(const Engine& engine, LanguageRun& run, size_t layer, const std::vector<TokenId>& tokens)
      : engine_(engine), layer_(layer), stories_(run.measured_rows()), losses_(engine, run.model(), longest(stories_)) {
    for (const TokenId t : tokens) classes.push_back(run.piece(t));
    for (const TokenRow& row : stories_)
      for (const TokenId t : row.target)
        label.push_back(static_cast<uint32_t>(std::ranges::find(tokens, t) - tokens.begin()));
  }
  Outcome with(ConstMatrixView<double> basis, double keep) override {
    losses_.pass().change_glu(layer_, [&](MatrixView<float> x) { fold_ablation(engine_.linalg(), basis, keep, x); });
    Outcome out{.all = {}, .classes = std::vector<Score>(classes.size()), .outputs = {}};
    size_t at = 0;
    for (const TokenRow& row : stories_) {
      losses_.run(row.input, row.target);
      for (size_t i = 0; i < row.input.size(); i++) {
        const double loss = losses_.losses()[i];
        const bool hit = losses_.hits()[i];
        add(out.all, loss, hit);
        if (const uint32_t c = label[at++]; c < classes.size()) add(out.classes[c], loss, hit);
      }
    }
    finish(out.all);
    for (Score& s : out.classes) finish(s);
    return out;
  }

 private:
  static size_t longest(std::span<const TokenRow> rows) {
    size_t most = 1;
    for (const TokenRow& row : rows) most = std::max(most, row.input.size());
    return most;
  }

  const Engine& engine_;
  size_t layer_;
  std::span<const TokenRow> stories_;
  TextLosses losses_;
};

Directions asked_directions(Run& run, size_t layer, Form form, const Along& along) {
  return run.kind() == ModelKind::language ? asked_directions(run.language(), layer, along, form)
                                           : image_directions(run.image(), layer, along, form);
}

// The eigenvectors with these ranks of one direction, added to what is removed.
void choose(const Spectrum& s, const std::string& direction, const std::vector<size_t>& ranks,
            std::vector<RemovedVector>& removed, std::vector<std::span<const double>>& vectors) {
  const std::vector<uint32_t> order = order_by_magnitude(s.values);
  for (const size_t rank : ranks) {
    if (rank > order.size())
      bad_argument("remove", "there is no eigenvector " + std::to_string(rank),
                   "from 1 to " + std::to_string(order.size()));
    removed.push_back({direction, rank, s.values[order[rank - 1]]});
    vectors.push_back(s.vectors.view().row(order[rank - 1]));
  }
}

// Everything that the effects of one request have in common.
struct Setting {
  Run& run;
  Subject& subject;
  size_t layer;
  double keep;
  const GateTerms& line;
  const Directions& directions;
  Directions classes;  // that are predicted, in the order of the subject's classes; may be none
  Matrix<float> inputs;
  Outcome before;
  Matrix<double> outputs;  // [n, classes.count()] of the layer, for tokens
};

Directions one_direction(const Directions& all, size_t u) {
  Directions one{
      .layer = all.layer, .names = {all.names[u]}, .weights = Matrix<double>(1, all.weights.cols()), .constants = {}};
  std::ranges::copy(all.weights.view().row(u), one.weights.data());
  return one;
}

// Means of the layer's outputs along tokens, each over the inputs before that token.
std::vector<double> token_outputs(const Setting& s, const Matrix<double>& outputs) {
  std::vector<double> sum(s.classes.count());
  std::vector<size_t> count(s.classes.count());
  for (size_t i = 0; i < outputs.rows(); i++)
    if (const uint32_t c = s.subject.label[i]; c < sum.size()) sum[c] += outputs(i, c), count[c]++;
  for (size_t c = 0; c < sum.size(); c++)
    if (count[c]) sum[c] /= static_cast<double>(count[c]);
  return sum;
}

AblationEffect effect(Setting& s, const Directions& directions, std::vector<RemovedVector> removed,
                      const std::vector<std::span<const double>>& chosen, Matrix<double>* removed_basis = nullptr) {
  const GluModel& model = s.run.reading();
  const GluLayerView layer = model.layer(s.layer);
  Matrix<double> vectors(chosen.size(), layer.width());
  for (size_t i = 0; i < chosen.size(); i++) std::ranges::copy(chosen[i], vectors.view().row_ptr(i));
  Matrix<double> basis = input_basis(layer, vectors);
  Outcome after = s.subject.with(basis, s.keep);
  const Matrix<float> changed = ablated_inputs(model.linalg(), s.inputs, basis, s.keep);
  AblationEffect e{.removed = std::move(removed), .dimensions = basis.rows(), .after = after.all};
  const OutputChanges own = output_changes(model, directions, s.line, s.inputs, changed);
  e.change = change_fit(own.truth, own.predicted);
  std::vector<ChangeFit> fits;
  std::vector<double> outputs_before = s.before.outputs, outputs_after = after.outputs;
  if (s.classes.count()) {
    const OutputChanges changes = output_changes(model, s.classes, s.line, s.inputs, changed);
    for (size_t c = 0; c < s.classes.count(); c++) fits.push_back(change_fit(changes, c));
    if (outputs_before.empty()) {
      Matrix<double> outputs = s.outputs;
      outputs_before = token_outputs(s, outputs);
      for (size_t i = 0; i < outputs.size(); i++) outputs.data()[i] -= changes.truth.data()[i];
      outputs_after = token_outputs(s, outputs);
    }
  }
  for (size_t c = 0; c < s.subject.classes.size(); c++)
    e.classes.push_back({.name = s.subject.classes[c],
                         .before = s.before.classes[c],
                         .after = after.classes[c],
                         .output_before = outputs_before[c],
                         .output_after = outputs_after[c],
                         .change = fits.empty() ? std::nullopt : std::optional(fits[c])});
  if (removed_basis) *removed_basis = std::move(basis);
  return e;
}

// The class that a direction is, at the last layer of a classifier; the token in a language model.
std::optional<size_t> class_of(const Run& run, const Subject& subject, const Directions& classes,
                               const std::string& name) {
  if (classes.count() == 0) return {};
  const std::vector<std::string>& names = run.kind() == ModelKind::language ? subject.classes : classes.names;
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<size_t>(found - names.begin()));
}

OrderedJson json_of(const Score& s) {
  return {{"inputs", s.inputs}, {"loss", s.loss}, {"accuracy", number_or_null(s.accuracy)}};
}

OrderedJson json_of(const AblationEffect& e) {
  OrderedJson j;
  if (!e.direction.empty()) j["direction"] = e.direction;
  j["removed"] = OrderedJson::array();
  for (const RemovedVector& v : e.removed)
    j["removed"].push_back({{"direction", v.direction}, {"rank", v.rank}, {"eigenvalue", v.value}});
  j["dimensions"] = e.dimensions;
  j["after"] = json_of(e.after);
  j["r"] = e.change.correlation;
  j["slope"] = e.change.slope;
  j["own_class"] = e.own_class ? OrderedJson(*e.own_class) : OrderedJson();
  j["classes"] = OrderedJson::array();
  for (const ClassEffect& c : e.classes) {
    OrderedJson one = {{"name", c.name},
                       {"before", json_of(c.before)},
                       {"after", json_of(c.after)},
                       {"output_before", c.output_before},
                       {"output_after", c.output_after}};
    one["r"] = c.change ? OrderedJson(c.change->correlation) : OrderedJson();
    one["slope"] = c.change ? OrderedJson(c.change->slope) : OrderedJson();
    j["classes"].push_back(std::move(one));
  }
  return j;
}

}  // namespace

std::vector<Field> fields_of(AblationRequest& q) {
  return join(
      join(fields_of(q.source),
           layer_fields(q.layer, q.form, "The reading whose eigenvectors are removed and that predicts the change")),
      join(
          fields_of(q.along),
          {Field("remove", q.remove, "Which eigenvectors of each, by rank: 1 is the strongest; 1,3 or 1..5")
               .shown("K[,K]"),
           Field("scale", q.scale, "What is left of the input along them: 0 removes, 1 changes nothing").range(0, 1000),
           Field("save", q.save, "Write the changed model as a run into this new folder").directory()}));
}

Ablation ablate(const Engine& engine, const AblationRequest& q) {
  check_ranges(q);
  return ablate(engine, *open_run(engine, q.source), q);
}

Ablation ablate(const Engine& engine, Run& run, const AblationRequest& q) {
  check_request(q, run);
  const std::vector<size_t> ranks = parse_numbers(q.remove, "remove", "eigenvector", 1);
  if (!q.save.empty() && run.kind() == ModelKind::language && run.language().foreign())
    bad_argument("save", "a model of another program cannot be saved with its eigenvectors removed",
                 "a run of `train()`");
  std::unique_ptr<ExportFolder> folder;  // refused before the work begins
  if (!q.save.empty()) folder = std::make_unique<ExportFolder>(engine.files(), q.save, "no earlier one", false);
  const GluModel& model = run.reading();
  Ablation r;
  r.linalg = engine.linalg().description();
  r.run = run.directory(), r.model_text = run.text(), r.kind = run.kind();
  r.gate = gate_info(run.gate()).text.name;
  r.form = run.form(q.form), r.scale = q.scale;
  r.layer = asked_layer(model, q.layer), r.layers = model.layers();
  r.width = model.layer(r.layer).inputs();
  const Directions directions = asked_directions(run, r.layer, r.form, q.along);
  r.data = run.data_name();
  const GateTerms line = run.line(r.form, r.layer);

  std::unique_ptr<Subject> subject;
  Directions classes{.layer = r.layer, .names = {}, .weights = {}, .constants = {}};
  if (run.kind() == ModelKind::image) {
    subject = std::make_unique<ImageSubject>(engine, run.image(), r.layer);
    if (r.layer == model.last()) classes = run.image().reading().classes();
  } else {
    const std::vector<TokenId> tokens =
        single_tokens(token_space(run.language()), words_of(q.along, ModelKind::language, DirectionWord::Kind::token));
    subject = std::make_unique<TextSubject>(engine, run.language(), r.layer, tokens);
    classes = model.directions(r.layer, run.language().reading().token_directions(tokens),
                               std::vector<std::string>(tokens.size()));
  }
  engine.check_stop();
  Setting s{run, *subject, r.layer, q.scale, line, directions, classes, run.measured(r.layer).inputs, {}, {}};
  s.before = subject->with({}, 1);
  r.before = s.before.all;
  if (s.before.outputs.empty() && classes.count())
    s.outputs = layer_outputs(model.reader(r.layer), classes.weights, s.inputs);

  const std::vector<UnitForm> forms = unit_forms(model.reader(r.layer), line, directions.weights, {},
                                                 wanted_pairs(model.layer(r.layer), std::ranges::max(ranks)));
  std::vector<RemovedVector> all_removed;
  std::vector<std::span<const double>> all_vectors;
  for (size_t u = 0; u < directions.count(); u++) {
    engine.check_stop();
    std::vector<RemovedVector> removed;
    std::vector<std::span<const double>> vectors;
    choose(forms[u].spectrum, directions.names[u], ranks, removed, vectors);
    all_removed.insert(all_removed.end(), removed.begin(), removed.end());
    all_vectors.insert(all_vectors.end(), vectors.begin(), vectors.end());
    if (directions.count() == 1) break;
    r.each.push_back(effect(s, one_direction(directions, u), std::move(removed), vectors));
    r.each.back().direction = directions.names[u];
    r.each.back().own_class = class_of(run, *subject, classes, directions.names[u]);
  }
  Matrix<double> basis;
  r.all = effect(s, directions, std::move(all_removed), all_vectors, &basis);
  if (directions.count() == 1) {
    r.all.direction = directions.names[0];
    r.all.own_class = class_of(run, *subject, classes, directions.names[0]);
  }
  if (folder) {
    save_ablated_run(engine, run, r, ablated_weights(run, r.layer, basis, q.scale), *folder);
    r.saved = q.save;
  }
  return r;
}

OrderedJson to_json(const Ablation& r) {
  OrderedJson j = {{"schema", "glint-ablate/1"},
                   {"run", r.run},
                   {"kind", r.kind == ModelKind::language ? "language" : "image"},
                   {"gate", r.gate},
                   {"linalg", r.linalg},
                   {"data", r.data},
                   {"form", name(r.form)},
                   {"layer", r.layer + 1},
                   {"width", r.width},
                   {"scale", r.scale},
                   {"before", json_of(r.before)}};
  j["all"] = json_of(r.all);
  j["each"] = OrderedJson::array();
  for (const AblationEffect& e : r.each) j["each"].push_back(json_of(e));
  if (!r.saved.empty()) j["saved"] = r.saved;
  return j;
}

}  // namespace glint
