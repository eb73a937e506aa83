#include "glint/cli/language_directions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "glint/base/error.h"
#include "glint/io/npy.h"

namespace glint::cli {
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

void refuse_zero(const Matrix<double>& direction, const std::string& name, const std::string& flag) {
  const std::span<const double> values = direction.span();
  if (std::any_of(values.begin(), values.end(), [](double v) { return v != 0; })) return;
  throw Error({.code = ErrorCode::usage,
               .what = "the direction " + name + " is 0",
               .where = flag,
               .expected = "a direction that points somewhere"});
}

// "happy", "happy - sad", "king + queen - man": tokens with signs. A text that is a token is that token,
// also when it looks like a sign.
Direction parse_direction(const OpenedLanguageRun& run, size_t layer, const std::string& text,
                          const std::string& flag) {
  struct Term {
    TokenId token;
    int sign;
  };
  std::vector<Term> terms;
  if (const std::optional<TokenId> token = known_token(run.run().tokenizer, text)) {
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
        throw Error({.code = ErrorCode::usage,
                     .what = "cannot read the direction '" + printable(text) + "'",
                     .where = flag,
                     .expected = "words with + or - between them, spaces around",
                     .hint = "--direction \"happy - sad\""});
      word_expected = is_sign;
      if (is_sign) {
        sign = word == "-" ? -1 : 1;
        continue;
      }
      terms.push_back({find_token(run, word, flag), sign});
      sign = 1;
    }
    if (word_expected)
      throw Error({.code = ErrorCode::usage, .what = "no word to read", .where = flag, .expected = "a word"});
  }
  Direction d;
  std::map<TokenId, int> count;  // equal terms cancel exactly, not but for rounding
  for (const Term& t : terms) {
    count[t.token] += t.sign;
    d.name += (d.name.empty() ? (t.sign < 0 ? "- " : "") : t.sign < 0 ? " - " : " + ") + run.piece(t.token);
  }
  Matrix<double> sum(1, run.run().model.config.d_model);
  for (const auto& [token, times] : count) {
    const Matrix<double> u = run.reading().token_directions({&token, 1});
    for (size_t i = 0; i < sum.size(); i++) sum.data()[i] += times * u.data()[i];
  }
  refuse_zero(sum, "'" + d.name + "'", flag);
  d.weights = run.reading().hidden(layer, sum);
  return d;
}

Direction hidden_unit(const OpenedLanguageRun& run, const std::string& number) {
  const size_t h = run.run().model.config.hidden(), unit = std::stoul(number);
  if (unit == 0 || unit > h)
    throw Error({.code = ErrorCode::usage,
                 .what = "there is no hidden unit " + number,
                 .where = "--hidden",
                 .expected = "from 1 to " + std::to_string(h)});
  Direction d{"hidden unit " + std::to_string(unit), Matrix<double>(1, h)};
  d.weights(0, unit - 1) = 1;
  return d;
}

// A vector of the residual stream from a .npy file.
Direction direction_from_file(const OpenedLanguageRun& run, size_t layer, const std::string& path) {
  const size_t d = run.run().model.config.d_model;
  const MappedFile file(path);
  const NpyView view = parse_npy(file.bytes(), path);
  Matrix<double> u(1, d);
  size_t values = 1;
  for (const size_t n : view.shape) values *= n;
  const bool number = view.dtype == Dtype::f32 || view.dtype == Dtype::f64;
  if (!number || view.shape.empty() || view.shape.back() != d || values != d)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "not a direction of the residual stream",
                 .where = path,
                 .expected = "one vector of " + std::to_string(d) + " numbers, f32 or f64"});
  if (view.dtype == Dtype::f32) {
    const Matrix<float> narrow = read_npy<float>(path);
    std::copy_n(narrow.data(), d, u.data());
  } else {
    u = read_npy<double>(path);
  }
  if (!std::all_of(u.data(), u.data() + d, [](double v) { return std::isfinite(v); }))
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the direction has values that are not numbers",
                 .where = path,
                 .expected = "finite values"});
  const std::string name = path.substr(path.find_last_of('/') + 1);
  refuse_zero(u, printable(name), "--hidden " + printable(path));
  return {printable(name), run.reading().hidden(layer, u)};
}

// Words with commas between; a comma where a word should begin is the token of a comma.
std::vector<std::string> token_words(const OpenedLanguageRun& run, const std::string& text) {
  if (known_token(run.run().tokenizer, text)) return {text};
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', text[at] == ',' ? at + 1 : at), text.size());
    words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

}  // namespace

TokenId find_token(const OpenedLanguageRun& run, const std::string& word, const std::string& flag) {
  const Tokenizer& tokenizer = run.run().tokenizer;
  if (const std::optional<TokenId> id = known_token(tokenizer, word)) return *id;
  std::string pieces;
  for (const TokenId id : tokenizer.encode(word)) pieces += " " + run.piece(id);
  throw Error(
      {.code = ErrorCode::usage,
       .what = "'" + printable(word) + "' is not one piece of the tokenizer",
       .where = flag,
       .expected = "a word that it has whole, or #ID with an ID below " + std::to_string(tokenizer.size()),
       .hint = pieces.empty() ? "another word" : "it is cut into" + pieces});
}

std::vector<Direction> asked_directions(const OpenedLanguageRun& run, size_t layer,
                                        const LanguageSpectrumOptions& o) {
  std::vector<Direction> out;
  for (const std::string& word : token_words(run, o.token))
    out.push_back(parse_direction(run, layer, word, "--token"));
  if (!o.direction.empty()) out.push_back(parse_direction(run, layer, o.direction, "--direction"));
  if (is_number(o.hidden))
    out.push_back(hidden_unit(run, o.hidden));
  else if (!o.hidden.empty())
    out.push_back(direction_from_file(run, layer, o.hidden));
  if (out.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "a language model has as many outputs as tokens: say which",
                 .where = o.run,
                 .expected = "--token WORD, --direction \"WORD - WORD\", --hidden N or --scan",
                 .hint = "glint spectrum " + o.run + " --token happy"});
  return out;
}

}  // namespace glint::cli
