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
  if (!m.tokenizer.empty()) {
    check_tokenizer(m, tokenizer.empty() ? clean : tokenizer);
  } else if (needed) {
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the model has no tokenizer",
                 .where = clean,
                 .expected = "tokenizer.json, tokenizer.model or tokenizer.bin beside it",
                 .hint = "`tokenizer=FILE`"});
  }
  return m;
}

}  // namespace glint
