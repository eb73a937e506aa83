#include "glint/lab/read/explain_token.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/lab/models/model_stories.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/work/file_words.h"
#include "glint/lab/work/result_files.h"
#include "glint/nn/softmax.h"
#include "glint/spectra/controls.h"

namespace glint {
namespace {

constexpr size_t kExpected = 5;
// The parts add up to the logit but for rounding: beyond this of the largest part something is wrong.
constexpr double kSumError = 1e-4;
// Eigenvectors of a wide layer, of which not all are made.
constexpr size_t kExplainedPairs = 64;

ReadToken token_of(const LanguageRun& run, TokenId id) {
  return {id, id < run.tokenizer().size() ? run.tokenizer().piece(id) : "", run.piece(id)};
}

// The tokens of the request's text, and how many of them the model reads.
std::vector<TokenId> read_tokens(LanguageRun& run, const ExplainRequest& q, ExplainTokenResult& r) {
  std::vector<TokenId> ids = run.beginning();
  r.marks = ids.size();
  const std::vector<TokenId> rest = run.tokenizer().encode(q.prompt);
  ids.insert(ids.end(), rest.begin(), rest.end());
  for (const TokenId id : ids) r.tokens.push_back(token_of(run, id));
  r.position = q.position.value_or(rest.size());
  const size_t lowest = r.marks > 0 ? 0 : 1, context = run.reading().context();
  if (r.position > rest.size() || r.position < lowest)
    bad_argument(q.position ? "position" : "prompt",
                 q.position ? "the text has no token " + std::to_string(*q.position) : "there is no prompt",
                 q.position ? "from " + std::to_string(lowest) + " to " + std::to_string(rest.size()) +
                                  ", the tokens of the text"
                            : "a text: the model reads nothing before it");
  ids.resize(r.marks + r.position);
  if (ids.size() > context)
    bad_argument("prompt", "the text has " + std::to_string(ids.size()) + " tokens up to there",
                 "at most " + std::to_string(context) + ", what the model reads at once");
  r.text = run.tokenizer().decode(std::span(ids).subspan(r.marks));
  return ids;
}

// Places and probabilities of tokens, of the logits as the model gives them: with the cap.
class Expectation {
 public:
  Expectation(const LanguageRun& run, const std::vector<float>& logits, double cap) : run_(run), logits_(logits) {
    std::vector<double> capped(logits.begin(), logits.end());
    if (cap > 0)
      for (double& l : capped) l = cap * std::tanh(l / cap);
    probabilities_ = softmax<double>(capped);
    order_.resize(logits.size());
    std::iota(order_.begin(), order_.end(), TokenId{0});
    std::stable_sort(order_.begin(), order_.end(), [&](TokenId a, TokenId b) { return logits[a] > logits[b]; });
  }
  ExpectedToken at(size_t place) const { return of(order_[place]); }
  ExpectedToken of(TokenId id) const {
    ExpectedToken t{token_of(run_, id)};
    t.logit = logits_[id], t.probability = probabilities_[id];
    t.place = static_cast<size_t>(std::ranges::find(order_, id) - order_.begin()) + 1;
    return t;
  }
  size_t size() const { return order_.size(); }

 private:
  const LanguageRun& run_;
  const std::vector<float>& logits_;
  std::vector<double> probabilities_;
  std::vector<TokenId> order_;
};

std::vector<size_t> asked_layers(const ExplainRequest& q, const LogitParts& parts) {
  const size_t count = parts.glu.size();
  std::vector<size_t> layers;
  if (q.layers.empty()) {
    const auto larger = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
    layers.push_back(static_cast<size_t>(std::ranges::max_element(parts.glu, larger) - parts.glu.begin()));
    return layers;
  }
  for (const size_t layer : parse_numbers(q.layers, "layer", "layer", 1, count))
    if (std::ranges::find(layers, layer - 1) == layers.end()) layers.push_back(layer - 1);
  return layers;
}

// The strongest terms of each sign with their words, and the words of the linear part.
void add_vectors(const LanguageRun& run, const ExplainRequest& q, ExplainedLayer& e) {
  const Spectrum& s = e.share.form.spectrum;
  const BothEnds ends = both_ends(e.share.terms, q.show);
  std::vector<uint32_t> shown;
  for (const auto* side : {&ends.positive, &ends.negative}) shown.insert(shown.end(), side->begin(), side->end());
  const bool linear = e.share.linear != 0;
  Matrix<double> vectors(shown.size() + (linear ? 1 : 0), s.width());
  for (size_t i = 0; i < shown.size(); i++)
    std::ranges::copy(s.vectors.view().row(shown[i]), vectors.view().row_ptr(i));
  if (linear) std::ranges::copy(e.share.form.linear, vectors.view().row_ptr(shown.size()));
  const std::vector<NearTokens> near = near_tokens(run, vectors, q.near);
  for (size_t i = 0; i < shown.size(); i++) {
    const uint32_t k = shown[i];
    (i < ends.positive.size() ? e.forward : e.against)
        .push_back({.rank = size_t{k} + 1,
                    .eigenvalue = s.values[k],
                    .projection = e.share.projections[k],
                    .contribution = e.share.terms[k],
                    .near = near[i]});
  }
  if (linear) e.linear_near = near.back();
}

ExplainedLayer explain_layer(const Engine& engine, LanguageRun& run, const ExplainRequest& q, size_t layer,
                             const ResidualTrace& trace, const Matrix<double>& direction, ExplainTokenResult& r) {
  const LanguageReading& model = run.reading();
  const GluLayerView view = model.layer(layer);
  const Directions along = model.directions(layer, direction, {asked_text(r)});
  const std::span<const float> input = trace.glu_inputs.view().row(layer);
  const GateTerms line = r.form == Form::local ? local_form(view, std::vector<double>(input.begin(), input.end()))
                                               : run.line(r.form, layer);
  double constant = 0;
  const std::vector<float> bias = model.output_bias(layer);
  for (size_t j = 0; j < bias.size(); j++) constant += direction(0, j) * bias[j];
  ExplainedLayer e;
  e.share = glu_share({engine.linalg(), engine.pool(), view}, layer, along.weights.view().row(0), constant, line, trace,
                      r.parts.glu[layer], wanted_pairs(view, std::max(kExplainedPairs, 2 * q.show)));
  e.normed_after = trace.glu_scale[layer] != 1;
  add_vectors(run, q, e);
  engine.check_stop();
  const GateTerms trusted = r.trusted == r.form ? line : run.line(r.trusted, layer);
  const Activations measured = run.measured(layer);
  r.inputs = measured.inputs.rows();
  e.trust = form_fidelity(model, along, trusted, measured);
  e.linear_map_r2 = linear_control(model, along, run.fitted(layer), measured).r2;
  engine.check_stop();
  return e;
}

}  // namespace

ExplainTokenResult explain_token(const Engine& engine, const ExplainRequest& request) {
  return explain_token(engine, *open_language_run(engine, request.source), request);
}

ExplainTokenResult explain_token(const Engine& engine, LanguageRun& run, const ExplainRequest& q) {
  check_request(q, run);
  if (q.prompt.empty() && !q.position)
    bad_argument(run.directory(), "nothing to explain: a language model needs `prompt`",
                 "what the model reads; it predicts what follows", "`explain(RUN, prompt='once upon a')`");
  const LanguageReading& model = run.reading();
  ExplainTokenResult r;
  r.run = run.directory(), r.model = run.text(), r.linalg = engine.linalg().description();
  r.form = run.form(q.form, FormNeeds::input);
  r.trusted = r.form == Form::local ? run.form("auto") : r.form;
  const TokenSpace space = token_space(run);
  const std::vector<TokenId> ids = read_tokens(run, q, r);
  const ResidualTrace trace = model.follow(ids);
  r.cap = model.logit_cap();
  const Expectation expectation(run, trace.logits, r.cap);
  for (size_t i = 0; i < std::min(kExpected, expectation.size()); i++) r.expected.push_back(expectation.at(i));
  r.token = q.token.empty() ? r.expected[0] : expectation.of(find_token(space, q.token, "token"));
  double logit = r.token.logit, constant = model.token_constant(r.token.id);
  Matrix<double> direction = model.token_directions({&r.token.id, 1});
  if (!q.against.empty()) {
    r.against = expectation.of(find_token(space, q.against, "against"));
    if (r.against->id == r.token.id)
      bad_argument("against", "a token against itself: " + r.token.text, "another token");
    const Matrix<double> other = model.token_directions({&r.against->id, 1});
    for (size_t j = 0; j < direction.size(); j++) direction.data()[j] -= other.data()[j];
    logit -= r.against->logit, constant -= model.token_constant(r.against->id);
  }
  r.parts = logit_parts(trace, direction.span(), constant, logit);
  r.samples = run.samples();
  for (const size_t layer : asked_layers(q, r.parts))
    r.layers.push_back(explain_layer(engine, run, q, layer, trace, direction, r));
  if (q.figures) {
    const std::string word = asked_text(r) + " at " + std::to_string(r.position) + " of " + q.prompt;
    const std::string path = figures_directory(result_folder(q.out, run.results())) + "/explain-" + file_word(word);
    write_figure(engine, path, logit_figure(explanation_figure(r)));
    r.figure = path + ".svg";
  }
  return r;
}

std::string asked_text(const ExplainTokenResult& r) {
  return r.token.text + (r.against ? " against " + r.against->text : "");
}

std::string verdict_text(const ExplainTokenResult& r) {
  const auto share = [](const ExpectedToken& t) {
    return t.probability < 0.0005 ? "less than 0.1 %" : fixed_text(100 * t.probability, 1) + " %";
  };
  std::string text = "expects " + r.expected[0].text + " next with " + share(r.expected[0]);
  for (const ExpectedToken* t : {&r.token, r.against ? &*r.against : nullptr})
    if (t && t->id != r.expected[0].id)
      text += "; " + t->text + " with " + share(*t) + ", place " + std::to_string(t->place);
  return text;
}

std::string check_text(const ExplainTokenResult& r) {
  double largest = 1;
  for (const std::vector<double>* of : {&r.parts.attention, &r.parts.glu})
    for (const double v : *of) largest = std::max(largest, std::fabs(v));
  const bool good = std::fabs(r.parts.error()) <= kSumError * largest;
  return "Sum of the parts " + fixed_text(r.parts.sum(), 5) + ", the model's " +
         (r.against ? "difference of logits " : "logit ") + fixed_text(r.parts.logit, 5) + ": " +
         (good ? "the same but for rounding" : "NOT the same: do not trust these parts") + " (difference " +
         signed_text(r.parts.error()) + ")";
}

std::string trust_text(const ExplainTokenResult& r, const ExplainedLayer& e) {
  std::string text = "The " + name(r.trusted) + " form of layer " + std::to_string(e.share.layer + 1) +
                     " along this direction, at " + std::to_string(r.inputs) + " tokens of " + r.samples + ": R2 " +
                     fixed_text(e.trust.r2, 3);
  if (e.trust.eigenvectors_r2 != e.trust.r2)
    text += ", of the eigenvectors alone " + fixed_text(e.trust.eigenvectors_r2, 3);
  text += "; the best linear map of the layer's input " + fixed_text(e.linear_map_r2, 3) + ".";
  if (r.form == Form::local) text += " The local form is exact for this input and holds for no other.";
  return text;
}

std::string path_text(const ExplainTokenResult& r) {
  std::string text =
      "Direct path: what each part adds to the residual stream, through the last norm with its size taken as "
      "it is here. What a part does through later layers counts as theirs.";
  for (const ExplainedLayer& e : r.layers)
    if (e.normed_after) {
      text += " A norm follows the GLU: its size, too, is taken as it is here.";
      break;
    }
  if (r.cap > 0)
    text += " The model caps its logits at " + fixed_text(r.cap, 0) + " (tanh): these are from before the cap.";
  return text;
}

}  // namespace glint
