#include "glint/lab/foreign.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/model/config_file.h"

namespace glint {
namespace {

// Files of Hugging Face pad the vocabulary of the weights to a round number; beyond this share, or with more
// tokens than the weights have, it is the tokenizer of another model.
constexpr double kPadding = 0.05;

void check_tokenizer(const ForeignModel& m, const std::string& where) {
  const size_t have = m.tokenizer.size(), rows = m.model.vocab();
  const bool exact = m.model.file().format() == WeightFormat::llama2c;
  const bool fits = exact ? have == rows
                          : have <= rows && static_cast<double>(rows - have) <=
                                                std::max(1024.0, kPadding * static_cast<double>(rows));
  if (!fits)
    throw Error(
        {.code = ErrorCode::bad_file,
         .what = "the tokenizer has " + std::to_string(have) + " tokens, the model " + std::to_string(rows),
         .where = where,
         .expected = "the tokenizer that the model was trained with",
         .hint = "`tokenizer=FILE` with the right one"});
}

// A tokenizer that was given, where the model has one of its own and that fits: both must have the same
// pieces. One of the right size for another model would give nonsense.
void check_own_tokenizer(const ForeignModel& m, const std::string& given) {
  const Tokenizer own = Tokenizer::of_model(m.model.file());
  if (own.empty() || own.size() != m.tokenizer.size() || own.sha256() == m.tokenizer.sha256()) return;
  // Formats spell rare pieces in their own ways: a tokenizer of another model differs in most.
  size_t others = 0, first = own.size();
  for (size_t t = 0; t < own.size(); t++) {
    const auto id = static_cast<TokenId>(t);
    if (own.is_control(id) || own.is_byte(id) || own.piece(id) == m.tokenizer.piece(id)) continue;
    if (others++ == 0) first = t;
  }
  if (others * 20 <= own.size()) return;
  const auto id = static_cast<TokenId>(first);
  throw Error({.code = ErrorCode::bad_file,
               .what = "this is the tokenizer of another model: " + std::to_string(others) + " of " +
                       std::to_string(own.size()) + " tokens are not those of the model's own",
               .where = given,
               .expected = "token " + std::to_string(first) + " to be '" + own.piece(id) + "', not '" +
                           m.tokenizer.piece(id) + "'",
               .hint = "without `tokenizer` the model's own is taken"});
}

}  // namespace

bool is_foreign(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return std::filesystem::is_regular_file(path, ignored) && weight_format(path).has_value();
  const std::string config = path + "/config.json";
  if (exists(path + "/" + kRunFile) || !exists(config)) return false;
  const Json json = read_json(config);
  return json.is_object() && json.contains("model_type") && !json.contains("format");
}

void refuse_foreign(const std::string& path, const std::string& what) {
  if (!is_foreign(path)) return;
  throw Error({.code = ErrorCode::bad_file,
               .what = what + " cannot take a model of another program yet",
               .where = path,
               .expected = "a run of `train()`; eval, generate and spectrum take such models",
               .hint = "`model(" + path + ")` tells what can be done with it"});
}

std::vector<TokenId> ForeignModel::ends() const {
  std::vector<TokenId> out = model.config().ends;
  if (!tokenizer.empty() && tokenizer.has_end()) out.push_back(tokenizer.end());
  if (!tokenizer.empty() && tokenizer.begin()) out.push_back(*tokenizer.begin());
  return out;
}

std::vector<TokenId> ForeignModel::tokens(const std::string& text) const {
  std::vector<TokenId> ids(tokenizer.prefix().begin(), tokenizer.prefix().end());
  const std::vector<TokenId> rest = tokenizer.encode(text);
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

ForeignModel open_foreign(const std::string& path, const std::string& tokenizer, bool needed) {
  std::string clean = path;
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  ForeignModel m{clean, FamilyModel(open_weights(clean)), {}};
  m.tokenizer = tokenizer.empty() ? Tokenizer::of_model(m.model.file()) : Tokenizer::read(tokenizer);
  if (needed) need_tokenizer(m);
  if (!m.tokenizer.empty()) check_tokenizer(m, tokenizer.empty() ? clean : tokenizer);
  if (!tokenizer.empty()) check_own_tokenizer(m, tokenizer);
  return m;
}

void need_tokenizer(const ForeignModel& m) {
  if (!m.tokenizer.empty()) return;
  throw Error({.code = ErrorCode::bad_file,
               .what = "the model has no tokenizer",
               .where = m.path,
               .expected = "tokenizer.json, tokenizer.model or tokenizer.bin beside it",
               .hint = "`tokenizer=FILE`"});
}

}  // namespace glint
