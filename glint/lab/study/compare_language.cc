// Language models side by side: the eigenvectors of one layer along some tokens, seen as what they are for
// every token that both vocabularies have, or at the input of the layer.
#include <map>
#include <set>

#include "glint/base/error.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/study/compare_parts.h"
#include "glint/lab/study/run_pairs.h"
#include "glint/lab/work/data_words.h"

namespace glint {
namespace {

constexpr size_t kComparedTokens = 12;
// The embeddings of the tokens that both have, as doubles, for the similarity as functions; beyond that there
// is none.
constexpr uint64_t kFunctionalBytes = uint64_t{1} << 30;

struct LanguageEntry {
  ComparedModel model;
  std::unique_ptr<LanguageRun> run;
  std::map<std::string, TokenId> pieces;  // all of the vocabulary that are text
  std::vector<UnitForm> forms;            // of the tokens
  ModelVectors vectors;                   // at the input of the layer
};

class LanguageComparer : public Comparer {
 public:
  LanguageComparer(const Engine& engine, const CompareRequest& options) : engine_(engine), options_(options) {
    if (options.space == "pixels") bad_argument("space", "language models have no pixels", "`tokens` or `input`");
  }

  const ComparedModel& open(const std::string& run) override { return entry(run).model; }
  PairVectors vectors(const std::string& a, const std::string& b) override {
    return seen({entry(a).vectors, entry(b).vectors}, a, b);
  }
  PairVectors random(const std::string& a, const std::string& b, uint64_t draw) override {
    const auto of = [&](const LanguageEntry& e, uint64_t seed) {
      return random_vectors(tokens_.size(), e.run->reading().layer(e.model.layer).width(), options_.show, seed);
    };
    return seen({of(entry(a), 2 * draw), of(entry(b), 2 * draw + 1)}, a, b);
  }
  std::optional<FunctionalSimilarity> functional(const std::string& a, const std::string& b) override;

  std::vector<size_t> units() const override { return {tokens_.begin(), tokens_.end()}; }
  std::vector<std::string> unit_names() const override {
    std::vector<std::string> names;
    for (const TokenId t : tokens_) names.push_back(first_->run->language().piece(t));
    return names;
  }
  std::string space_name() const override { return at_input() ? "input" : "tokens"; }
  std::string space_text() const override {
    if (at_input())
      return "as vectors that layer reads, width " + std::to_string(first_->model.width) +
             ": this means something when the models share that space, as a model and its fine-tuned copy do";
    return "by their products with the embeddings of the " + std::to_string(common_.begin()->second.size()) +
           " tokens that both vocabularies have, the same token where the piece is the same";
  }
  std::vector<std::string> notes() const override { return {notes_.begin(), notes_.end()}; }

 private:
  using Pairs = std::vector<std::pair<TokenId, TokenId>>;
  bool at_input() const { return options_.space == "input"; }
  LanguageEntry& entry(const std::string& path);
  std::vector<TokenId> tokens_of(const LanguageEntry& entry) const;
  void check_width(const LanguageEntry& entry) const;
  const Pairs& common(const std::string& a, const std::string& b);
  PairVectors seen(PairVectors vectors, const std::string& a, const std::string& b);
  ModelVectors through(const LanguageEntry& entry, const ModelVectors& vectors,
                       const std::vector<TokenId>& tokens) const;
  FunctionalForms forms_over(const LanguageEntry& entry, const std::vector<TokenId>& tokens) const;

  const Engine& engine_;
  const CompareRequest& options_;
  std::map<std::string, LanguageEntry> entries_;
  std::map<std::pair<std::string, std::string>, Pairs> common_;
  const LanguageEntry* first_ = nullptr;
  std::vector<TokenId> tokens_;  // of the first model
  std::set<std::string> notes_;
};

// The token directions of a layer.
Directions token_units(const LanguageRun& run, size_t layer, const std::vector<TokenId>& tokens) {
  std::vector<std::string> names;
  for (const TokenId t : tokens) names.push_back(run.piece(t));
  return run.reading().directions(layer, run.reading().token_directions(tokens), names);
}

LanguageEntry& LanguageComparer::entry(const std::string& path) {
  if (const auto found = entries_.find(path); found != entries_.end()) return found->second;
  LanguageEntry e;
  RunSource source = options_.source;
  source.run = path;
  if (!is_foreign(path)) source.tokenizer.clear();
  e.run = open_language_run(engine_, source);
  LanguageRun& run = *e.run;
  const LanguageReading& reading = run.reading();
  const Tokenizer& tokenizer = run.tokenizer();
  for (size_t t = 0; t < std::min(tokenizer.size(), reading.vocab()); t++)
    if (const auto id = static_cast<TokenId>(t); is_text(tokenizer, id)) e.pieces.emplace(tokenizer.piece(id), id);
  const size_t layer = asked_layer(reading, options_.layer);
  e.model = {.directory = path,
             .gate = std::string(gate_info(run.gate()).text.name),
             .data = run.samples(),
             .seed = run.foreign() ? std::nullopt : run_seed(path),
             .width = reading.width(),
             .layers = reading.layers(),
             .layer = layer,
             .form = run.form(options_.form),
             .fidelity = {}};
  if (!first_)
    tokens_ =
        options_.token.empty() ? frequent_tokens(run, kComparedTokens) : named_tokens(token_space(run), options_.token);
  else
    check_width(e);
  const std::vector<TokenId> tokens = first_ ? tokens_of(e) : tokens_;
  const Directions directions = token_units(run, layer, tokens);
  const Activations a = run.measured(layer);
  // All eigenpairs where the models are compared as functions.
  Reading read = glint::read(reading, directions, run.line(e.model.form, layer), a,
                             wanted_pairs(reading.layer(layer), 4 * options_.show));
  e.model.fidelity = read.fidelity;
  if (options_.controls)
    e.model.controls = controls_of(
        run, [&](Run& of) { return token_units(of.language(), layer, tokens); }, {e.model.form}, a);
  e.forms = std::move(read.units);
  e.vectors = strongest_vectors(e.forms, options_.show);
  LanguageEntry& kept = entries_.emplace(path, std::move(e)).first->second;
  if (!first_) first_ = &kept;
  return kept;
}

// The tokens of the first model here, by their pieces.
std::vector<TokenId> LanguageComparer::tokens_of(const LanguageEntry& e) const {
  std::vector<TokenId> out;
  for (const TokenId t : tokens_) {
    const auto found = e.pieces.find(first_->run->language().tokenizer().piece(t));
    if (found == e.pieces.end())
      bad_argument(first_->model.directory + " and " + e.model.directory,
                   "the second model has no token " + first_->run->language().piece(t),
                   "tokens that both vocabularies have, in `token`");
    out.push_back(found->second);
  }
  return out;
}

void LanguageComparer::check_width(const LanguageEntry& e) const {
  if (!at_input() || e.model.width == first_->model.width) return;
  bad_argument(first_->model.directory + " and " + e.model.directory,
               "the layers read vectors of different width, " + std::to_string(first_->model.width) + " and " +
                   std::to_string(e.model.width),
               "one width for `space=input`", "`space=tokens` compares models of any width");
}

const LanguageComparer::Pairs& LanguageComparer::common(const std::string& a, const std::string& b) {
  const auto [it, added] = common_.try_emplace({a, b});
  if (!added) return it->second;
  const LanguageEntry &x = entry(a), &y = entry(b);
  for (const auto& [piece, token] : x.pieces)
    if (const auto found = y.pieces.find(piece); found != y.pieces.end()) it->second.emplace_back(token, found->second);
  if (it->second.size() < 2 * options_.show)
    bad_argument(a + " and " + b,
                 "the vocabularies have only " + std::to_string(it->second.size()) + " tokens in common",
                 "at least " + std::to_string(2 * options_.show) + " pieces that are in both");
  if (it->second.size() < std::max(x.pieces.size(), y.pieces.size()))
    notes_.insert("the vocabularies differ: " + std::to_string(it->second.size()) + " pieces are in both, of " +
                  std::to_string(x.pieces.size()) + " and " + std::to_string(y.pieces.size()));
  return it->second;
}

std::vector<TokenId> side_of(const std::vector<std::pair<TokenId, TokenId>>& pairs, bool second) {
  std::vector<TokenId> out;
  for (const auto& [a, b] : pairs) out.push_back(second ? b : a);
  return out;
}

PairVectors LanguageComparer::seen(PairVectors v, const std::string& a, const std::string& b) {
  if (at_input()) return v;
  const Pairs& pairs = common(a, b);
  return {through(entry(a), v.a, side_of(pairs, false)), through(entry(b), v.b, side_of(pairs, true))};
}

ModelVectors LanguageComparer::through(const LanguageEntry& e, const ModelVectors& v,
                                       const std::vector<TokenId>& tokens) const {
  ModelVectors out{.values = v.values, .vectors = {}};
  for (const Matrix<double>& m : v.vectors) {
    const Matrix<double> all = e.run->reading().products(m);
    Matrix<double> some(m.rows(), tokens.size());
    for (size_t i = 0; i < m.rows(); i++)
      for (size_t t = 0; t < tokens.size(); t++) some(i, t) = all(i, tokens[t]);
    out.vectors.push_back(std::move(some));
  }
  return out;
}

// As functions of how much of every token's embedding the layer reads.
FunctionalForms LanguageComparer::forms_over(const LanguageEntry& e, const std::vector<TokenId>& tokens) const {
  const size_t d = e.model.width;
  Matrix<float> map(d, tokens.size()), row(1, d);
  for (size_t t = 0; t < tokens.size(); t++) {
    e.run->reading().embeddings(tokens[t], row);
    for (size_t i = 0; i < d; i++) map(i, t) = row(0, i);
  }
  return functional_forms(engine_.linalg(), e.forms, {.matrix = map, .row_is_input = false, .bias = {}});
}

std::optional<FunctionalSimilarity> LanguageComparer::functional(const std::string& a, const std::string& b) {
  const LanguageEntry &x = entry(a), &y = entry(b);
  const auto whole = [](const LanguageEntry& e) { return e.forms[0].spectrum.count() == e.forms[0].spectrum.width(); };
  const uint64_t tokens = at_input() ? 0 : common(a, b).size();
  if (!whole(x) || !whole(y) || 8 * tokens * std::max(x.model.width, y.model.width) > kFunctionalBytes) {
    notes_.insert("not compared as functions: the layers are too wide for it");
    return {};
  }
  if (at_input())
    return functional_similarity(engine_.linalg(), functional_forms(engine_.linalg(), x.forms, x.model.width),
                                 functional_forms(engine_.linalg(), y.forms, y.model.width));
  return functional_similarity(engine_.linalg(), forms_over(x, side_of(common(a, b), false)),
                               forms_over(y, side_of(common(a, b), true)));
}

}  // namespace

std::unique_ptr<Comparer> language_comparer(const Engine& engine, const CompareRequest& request) {
  return std::make_unique<LanguageComparer>(engine, request);
}

}  // namespace glint
