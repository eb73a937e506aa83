#include "glint/lab/read/read_directions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/io/npy.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_latents.h"
#include "glint/spectra/lanczos.h"

namespace glint {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == text.npos;
}

// The piece as the file spells it, where the user copied what glint prints.
std::string spelled(std::string word) {
  constexpr std::string_view kShown = "·", kSpace = "\u2581";
  for (size_t at = 0; (at = word.find(kShown, at)) != word.npos; at += kSpace.size())
    word.replace(at, kShown.size(), kSpace);
  return word;
}

std::optional<TokenId> known_token(const Tokenizer& tokenizer, const std::string& word) {
  if (word.empty()) return std::nullopt;  // not the piece of a space
  if (word.starts_with('#') && is_number(word.substr(1)) && std::stoul(word.substr(1)) < tokenizer.size())
    return static_cast<TokenId>(std::stoul(word.substr(1)));
  for (const std::string& w : {word, spelled(word)})
    if (const std::optional<TokenId> id = tokenizer.find(w)) return id;
  const std::vector<TokenId> ids = tokenizer.encode(word);
  return ids.size() == 1 && ids[0] != tokenizer.unknown() ? std::optional(ids[0]) : std::nullopt;
}

void refuse_zero(const Matrix<double>& direction, const std::string& name, const std::string& where) {
  const std::span<const double> values = direction.span();
  if (std::any_of(values.begin(), values.end(), [](double v) { return v != 0; })) return;
  bad_argument(where, "the direction " + name + " is 0", "a direction that points somewhere");
}

// "happy", "happy - sad", "king + queen - man": tokens with signs. A text that is a token is that token,
// also when it looks like a sign.
Directions token_sum(const TokenSpace& space, size_t layer, const std::string& text, const std::string& where) {
  struct Term {
    TokenId token;
    int sign;
  };
  std::vector<Term> terms;
  if (const std::optional<TokenId> token = known_token(space.tokenizer, text)) {
    terms.push_back({*token, 1});
  } else {
    int sign = 1;
    bool word_expected = true;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      at = end + 1;
      if (word.empty()) continue;
      const bool is_sign = word == "-" || word == "+";
      if (is_sign == word_expected && !(is_sign && terms.empty()))
        bad_argument(where, "cannot read the direction '" + printable(text) + "'",
                     "words with + or - between them, spaces around: happy - sad");
      word_expected = is_sign;
      if (is_sign) {
        sign = word == "-" ? -1 : 1;
        continue;
      }
      terms.push_back({find_token(space, word, where), sign});
      sign = 1;
    }
    if (word_expected) bad_argument(where, "no word to read", "a word");
  }
  std::string name;
  std::map<TokenId, int> count;  // equal terms cancel exactly, not but for rounding
  for (const Term& t : terms) {
    count[t.token] += t.sign;
    name += (name.empty() ? (t.sign < 0 ? "- " : "")
             : t.sign < 0 ? " - "
                          : " + ") +
            piece_text(space.tokenizer, t.token);
  }
  Matrix<double> sum(1, space.model.outputs(layer));
  for (const auto& [token, times] : count) {
    const Matrix<double> u = space.model.token_directions({&token, 1});
    for (size_t i = 0; i < sum.size(); i++) sum.data()[i] += times * u.data()[i];
  }
  refuse_zero(sum, "'" + name + "'", where);
  return space.model.directions(layer, sum, {name});
}

// A vector of a layer's output.
Directions vector_direction(const GluModel& model, size_t layer, std::span<const double> values,
                            const std::string& name, const std::string& where) {
  const size_t width = model.outputs(layer);
  const auto refuse = [&](const std::string& what, const std::string& expected) {
    const bool in_memory = where == "direction";  // else the name of a file
    throw Error({.code = in_memory ? ErrorCode::usage : ErrorCode::bad_file,
                 .what = what,
                 .where = where,
                 .expected = expected});
  };
  if (values.size() != width)
    refuse(model.projection(layer).empty() ? "not a direction of the layer's output"
                                           : "not a direction of the residual stream",
           "one vector of " + std::to_string(width) + " numbers, f32 or f64");
  if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); }))
    refuse("the direction has values that are not numbers", "finite values");
  Matrix<double> u(1, width);
  std::ranges::copy(values, u.data());
  refuse_zero(u, name, where);
  return model.directions(layer, u, {name});
}

// One of a .npy file.
Directions direction_from_file(const GluModel& model, size_t layer, const std::string& path) {
  const MappedFile file(path);
  const NpyView view = parse_npy(file.bytes(), path);
  std::vector<double> values;
  if (!view.shape.empty() && view.shape.back() == model.outputs(layer)) {
    const auto take = [&](const auto& rows) { values.assign(rows.data(), rows.data() + rows.size()); };
    if (view.dtype == Dtype::f32) take(read_npy<float>(path));
    if (view.dtype == Dtype::f64) take(read_npy<double>(path));
  }
  return vector_direction(model, layer, values, printable(path.substr(path.find_last_of('/') + 1)), printable(path));
}

// Files, vectors in memory and hidden units, which any model has.
void append_vectors(Directions& all, const GluModel& model, size_t layer, const Along& along, ModelKind kind) {
  const std::vector<DirectionWord> words = direction_words(along, kind);
  for (const DirectionWord& w : words)
    if (w.kind == DirectionWord::Kind::file) append(all, direction_from_file(model, layer, w.text));
  for (const Along::Vector& v : along.vectors)
    append(all, vector_direction(model, layer, v.values, v.name, "direction"));
  for (const size_t unit : hidden_units(along, kind)) append(all, hidden_direction(model, layer, unit));
}

// Latents of the autoencoder `sae`.
Directions latent_directions(const GluModel& model, size_t layer, const Along& q) {
  const bool named = !words_of(q, ModelKind::language, DirectionWord::Kind::latent).empty();
  if (!named || q.sae.empty())
    bad_argument("latent", named ? "latents of which autoencoder?" : "which latents of the autoencoder?",
                 "`sae=DIR, latent=N`, or `scan`");
  const Autoencoder sae = read_autoencoder(q.sae);
  const std::vector<size_t> latents = asked_latents(q, sae);
  const Matrix<double> vectors = latent_vectors(sae, parse_side(q.side), latents, model.outputs(layer));
  std::vector<std::string> names;
  for (const size_t i : latents) names.push_back("latent " + std::to_string(i));
  for (size_t i = 0; i < latents.size(); i++) {
    const std::span<const double> row = vectors.view().row(i);
    if (std::all_of(row.begin(), row.end(), [](double v) { return v == 0; }))
      bad_argument("latent", names[i] + " is dead: its direction is 0", "a latent that points somewhere");
  }
  return model.directions(layer, vectors, std::move(names));
}

// Words with commas between; a comma where a word should begin is the token of a comma.
std::vector<std::string> token_words(const TokenSpace& space, const std::string& text) {
  if (known_token(space.tokenizer, text)) return {text};
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', text[at] == ',' ? at + 1 : at), text.size());
    words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

}  // namespace

TokenSpace token_space(const LanguageRun& run) { return {run.tokenizer(), run.reading()}; }

TokenId find_token(const TokenSpace& space, const std::string& word, const std::string& where) {
  const Tokenizer& tokenizer = space.tokenizer;
  if (const std::optional<TokenId> id = known_token(tokenizer, word)) return *id;
  std::string pieces;
  for (const TokenId id : tokenizer.encode(word)) pieces += " " + piece_text(tokenizer, id);
  bad_argument(where, "'" + printable(word) + "' is not one piece of the tokenizer",
               "a word that it has whole, or #ID with an ID below " + std::to_string(tokenizer.size()),
               pieces.empty() ? "another word" : "it is cut into" + pieces);
}

std::vector<TokenId> single_tokens(const TokenSpace& space, const std::string& text) {
  std::vector<TokenId> tokens;
  for (const std::string& word : token_words(space, text))
    if (const std::optional<TokenId> token = known_token(space.tokenizer, word);
        token && std::ranges::find(tokens, *token) == tokens.end())
      tokens.push_back(*token);
  return tokens;
}

std::vector<TokenId> named_tokens(const TokenSpace& space, const std::string& text) {
  std::vector<TokenId> tokens;
  for (const std::string& word : token_words(space, text))
    if (const TokenId token = find_token(space, word, "token"); std::ranges::find(tokens, token) == tokens.end())
      tokens.push_back(token);
  return tokens;
}

Directions language_directions(const TokenSpace& space, size_t layer, const Along& along) {
  Directions all{.layer = layer, .names = {}, .weights = {}, .constants = {}};
  const std::vector<DirectionWord> words = direction_words(along, ModelKind::language);
  bool latents = !along.sae.empty();
  for (const DirectionWord& w : words) {
    latents = latents || w.kind == DirectionWord::Kind::latent;
    if (w.kind != DirectionWord::Kind::token) continue;
    for (const std::string& word : token_words(space, w.text)) append(all, token_sum(space, layer, word, "token"));
  }
  append_vectors(all, space.model, layer, along, ModelKind::language);
  if (latents) append(all, latent_directions(space.model, layer, along));
  if (all.count() == 0)
    throw Error({.code = ErrorCode::usage,
                 .what = "a language model has as many outputs as tokens: say which",
                 .where = "token",
                 .expected =
                     "`token=WORD`, a sum of tokens as `direction=WORDS`, a hidden unit as `hidden=N`, a latent as "
                     "`sae=DIR, latent=N`, or `scan`"});
  return all;
}

std::vector<int> parse_signed_ranks(const std::string& text) {
  std::vector<int> ranks;
  for (std::string word : split(text, ',')) {
    const bool minus = word.starts_with('-');
    if (minus || word.starts_with('+')) word.erase(0, 1);
    if (!is_number(word) || std::stoul(word) == 0 || word.size() > 6)
      bad_argument("eigenvector", "not an eigenvector: '" + printable(text) + "'",
                   "+1 for the strongest of a positive eigenvalue, -1 of a negative one; +1,-1");
    ranks.push_back((minus ? -1 : 1) * std::stoi(word));
  }
  return ranks;
}

Directions eigenvector_directions(const GluModel& model, const Directions& later, const GateTerms& line,
                                  std::span<const int> ranks, size_t layer) {
  const GluLayerView view = model.layer(later.layer);
  size_t most = 1;
  for (const int r : ranks) most = std::max(most, static_cast<size_t>(std::abs(r)));
  Matrix<double> vectors(later.count() * ranks.size(), view.width());
  std::vector<std::string> names;
  for (size_t u = 0; u < later.count(); u++) {
    const QuadraticPart q = quadratic_part(later.weights.view().row(u), line);
    const Spectrum s =
        view.width() > kFullWidth && 2 * most <= view.width() / 8
            ? top_interaction({model.linalg(), model.pool(), view}, q, 2 * most, {.by = TopBy::both_ends})
            : eigh(model.linalg(), interaction(model.linalg(), view, q));
    const BothEnds ends = both_ends(s.values, most);
    for (const int rank : ranks) {
      const std::vector<uint32_t>& side = rank > 0 ? ends.positive : ends.negative;
      const auto place = static_cast<size_t>(std::abs(rank));
      const std::string name = std::string(rank > 0 ? "v+" : "v-") + std::to_string(place);
      if (place > side.size())
        bad_argument("eigenvector", "there is no eigenvector " + name.substr(1) + " of " + later.names[u],
                     "at most " + std::to_string(side.size()) + " of this sign");
      std::ranges::copy(s.vectors.view().row(side[place - 1]), vectors.view().row_ptr(names.size()));
      names.push_back(later.names[u] + " layer " + std::to_string(later.layer + 1) + " " + name);
    }
  }
  return model.directions(layer, vectors, std::move(names));
}

Directions asked_directions(LanguageRun& run, size_t layer, const Along& q, Form form) {
  // Where no direction is a word, a model without a tokenizer will do.
  static const Tokenizer none;
  const bool words = !words_of(q, ModelKind::language, DirectionWord::Kind::token).empty();
  const TokenSpace space = words || run.has_tokenizer() ? token_space(run) : TokenSpace{none, run.reading()};
  if (!q.from_layer) return language_directions(space, layer, q);
  const std::vector<int> ranks = parse_signed_ranks(q.eigenvector);
  if (*q.from_layer > space.model.layers() || *q.from_layer <= layer + 1)
    bad_argument("from_layer",
                 "layer " + std::to_string(*q.from_layer) + " is no layer after layer " + std::to_string(layer + 1),
                 layer + 1 == space.model.layers()
                     ? "a `layer` before the last"
                     : "from " + std::to_string(layer + 2) + " to " + std::to_string(space.model.layers()));
  const size_t from = *q.from_layer - 1;
  const Directions later = language_directions(space, from, q);
  return eigenvector_directions(space.model, later, run.line(form, from), ranks, layer);
}

std::vector<size_t> hidden_units(const Along& along, ModelKind kind) {
  const std::string numbers = words_of(along, kind, DirectionWord::Kind::hidden);
  if (numbers.empty()) return {};
  if (numbers.ends_with(".npy"))
    bad_argument("hidden", "a hidden unit has a number", "from 1 on; a vector in a file is `direction=FILE.npy`");
  return parse_numbers(numbers, "hidden", "hidden unit", 1);
}

Directions hidden_direction(const GluModel& model, size_t layer, size_t unit) {
  const size_t h = model.layer(layer).hidden();
  if (unit == 0 || unit > h)
    bad_argument("hidden", "there is no hidden unit " + std::to_string(unit), "from 1 to " + std::to_string(h));
  return model.hidden_unit(layer, unit - 1);
}

std::vector<UnitWord> class_words(const ImageRun& run, const Along& along) {
  std::string classes;
  bool others = !along.vectors.empty();
  for (const DirectionWord& w : direction_words(along, ModelKind::image)) {
    const bool is_class = w.kind == DirectionWord::Kind::unit;
    if (is_class) classes += (classes.empty() ? "" : ",") + w.text;
    others = others || !is_class;
  }
  if (others && !classes.empty())
    bad_argument("direction", "classes cannot be read beside other directions", "classes, or hidden units and vectors");
  if (others) return {};
  return parse_units(classes.empty() ? "all" : classes, run.class_names(), "unit");
}

Directions image_directions(ImageRun& run, size_t layer, const Along& along, Form form) {
  const ImageReading& reading = run.reading();
  const std::vector<UnitWord> words = class_words(run, along);
  if (words.empty()) {
    Directions all{.layer = layer, .names = {}, .weights = {}, .constants = {}};
    append_vectors(all, reading, layer, along, ModelKind::image);
    return all;
  }
  Directions d = class_directions(reading, words);
  for (const size_t rank : parse_via(along.via, reading.last() - layer))
    d = step_down(reading, d, run.line(form, d.layer), rank);
  return d;
}

size_t asked_layer(const GluModel& model, std::optional<size_t> layer) {
  if (!layer) return model.last();
  if (*layer < 1 || *layer > model.layers())
    bad_argument("layer", "the model has no layer " + std::to_string(*layer),
                 "from 1 to " + std::to_string(model.layers()));
  return *layer - 1;
}

Directions class_directions(const ImageReading& reading, const std::vector<UnitWord>& words) {
  const Directions classes = reading.classes();
  Directions all{.layer = classes.layer, .names = {}, .weights = {}, .constants = {}};
  for (const UnitWord& word : words) {
    if (word.minus) {
      append(all, reading.difference(word.plus, *word.minus));
      continue;
    }
    Directions one{.layer = classes.layer,
                   .names = {classes.names[word.plus]},
                   .weights = Matrix<double>(1, classes.weights.cols()),
                   .constants = {}};
    std::ranges::copy(classes.weights.view().row(word.plus), one.weights.data());
    if (!classes.constants.empty()) one.constants = {classes.constants[word.plus]};
    append(all, one);
  }
  return all;
}

std::vector<size_t> parse_via(const std::string& text, size_t steps) {
  std::vector<size_t> via = parse_numbers(text, "via", "eigenvector", 1);
  if (via.size() > std::max<size_t>(steps, 1))
    bad_argument("via", "'" + printable(text) + "' names more layers than there are above",
                 "at most " + std::to_string(steps));
  via.resize(steps, 1);
  return via;
}

Directions step_down(const GluModel& model, const Directions& d, const GateTerms& line, size_t rank) {
  const GluLayerView layer = model.layer(d.layer);
  if (rank > layer.width())
    bad_argument("via", "there is no eigenvector " + std::to_string(rank),
                 "from 1 to " + std::to_string(layer.width()));
  const std::vector<UnitForm> forms =
      unit_forms({model.linalg(), model.pool(), layer}, line, d.weights, d.constants, {.strongest = rank});
  Matrix<double> vectors(d.count(), layer.width());
  std::vector<std::string> names;
  for (size_t u = 0; u < d.count(); u++) {
    const Spectrum& s = forms[u].spectrum;
    const uint32_t k = order_by_magnitude(s.values)[rank - 1];
    std::ranges::copy(s.vectors.view().row(k), vectors.view().row_ptr(u));
    names.push_back(d.names[u] + (d.layer == model.last() ? " via v" : " v") + std::to_string(rank));
  }
  return model.directions(d.layer - 1, vectors, std::move(names));
}

std::string class_text(const std::vector<UnitWord>& words, const std::vector<std::string>& class_names,
                       const std::vector<size_t>& via) {
  std::string text;
  bool all = words.size() == class_names.size();
  for (size_t i = 0; i < words.size(); i++) {
    const UnitWord& w = words[i];
    all = all && w == UnitWord{.plus = i};
    text += (i ? ", " : "") + class_names[w.plus] + (w.minus ? " - " + class_names[*w.minus] : "");
  }
  if (all) text = via.empty() ? "" : "all";
  for (size_t i = 0; i < via.size(); i++) text += (i ? " v" : " via v") + std::to_string(via[i]);
  return text;
}

std::vector<TokenId> frequent_tokens(LanguageRun& run, size_t most) {
  std::vector<size_t> count(run.reading().vocab());
  for (const TokenRow& row : run.measured_rows())
    for (const TokenId t : row.target) count[t] += is_text(run.tokenizer(), t);
  std::vector<TokenId> tokens(count.size());
  std::iota(tokens.begin(), tokens.end(), TokenId{0});
  std::ranges::stable_sort(tokens, std::greater(), [&](TokenId t) { return count[t]; });
  std::erase_if(tokens, [&](TokenId t) { return count[t] == 0; });
  tokens.resize(std::min(tokens.size(), most));
  return tokens;
}

}  // namespace glint
