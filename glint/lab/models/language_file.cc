#include "glint/lab/models/language_run.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/lab/models/run_checks.h"
#include "glint/lab/work/data_words.h"
#include "glint/model/config_file.h"

namespace glint {
namespace {

// Files of Hugging Face pad the vocabulary of the weights to a round number; beyond this share, or with more
// tokens than the weights have, it is the tokenizer of another model.
constexpr double kPadding = 0.05;

void check_tokenizer(const FamilyModel& m, const Tokenizer& tokenizer, const std::string& where) {
  const size_t have = tokenizer.size(), rows = m.vocab();
  const bool exact = m.file().format() == WeightFormat::llama2c;
  const bool fits = exact ? have == rows
                          : have <= rows && static_cast<double>(rows - have) <=
                                                std::max(1024.0, kPadding * static_cast<double>(rows));
  if (!fits)
    bad_file(where, "the tokenizer has " + std::to_string(have) + " tokens, the model " + std::to_string(rows),
             "the tokenizer that the model was trained with", "`tokenizer=FILE` with the right one");
}

// What the configuration says of the token that begins a text, where it and the tokenizer both say it.
void check_marks(const FamilyModel& m, const Tokenizer& tokenizer, const std::string& where) {
  const Json& metadata = m.file().metadata();
  const bool gguf = m.file().format() != WeightFormat::safetensors;
  const auto said = metadata.find(gguf ? "tokenizer.ggml.bos_token_id" : "bos_token_id");
  const std::optional<TokenId> begin = tokenizer.begin();
  // Models whose tokenizer puts nothing before a text often name some token there.
  if (tokenizer.prefix().empty() || !begin || said == metadata.end() || !said->is_number_integer()) return;
  if (said->get<int64_t>() == static_cast<int64_t>(*begin)) return;
  bad_file(where,
           "the tokenizer is that of another model: its texts begin with token " + std::to_string(*begin) +
               ", those of the model with " + said->dump(),
           "the tokenizer that the model was trained with", "`tokenizer=FILE` with the right one");
}

// Of the tokens that both have. Pieces of marks have many spellings, and added tokens come and go.
constexpr double kOtherPieces = 0.05;

// A tokenizer of the same size can still be another: where the model has one of its own, their pieces must be
// the same.
void check_pieces(const Tokenizer& own, const Tokenizer& given, const std::string& where) {
  const size_t both = std::min(own.size(), given.size());
  size_t other = 0;
  for (size_t t = 0; t < both; t++) {
    const auto id = static_cast<TokenId>(t);
    if (own.is_control(id) || given.is_control(id)) continue;
    other += own.piece(id) != given.piece(id);
  }
  if (static_cast<double>(other) <= kOtherPieces * static_cast<double>(both)) return;
  bad_file(where,
           "the tokenizer is that of another model: " + std::to_string(other) + " of " + std::to_string(both) +
               " tokens are others than those of the model's own tokenizer",
           "the tokenizer that the model was trained with", "without `tokenizer` the model's own is used");
}

// The tokenizer of the model; empty() when there is none, or one that cannot be its own, which may be why
// another is given.
Tokenizer own_tokenizer(const FamilyModel& m) {
  try {
    const Tokenizer own = Tokenizer::of_model(m.file());
    if (!own.empty()) check_tokenizer(m, own, "");
    return own;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::string reading_folder(const std::string& path) { return std::filesystem::path(path).stem().string() + "-reading"; }

void check_not_foreign(const std::string& path, const std::string& what) {
  if (is_foreign(path)) refuse_foreign(path, what);
}

void refuse_foreign(const std::string& path, const std::string& what) {
  bad_file(path, what + " cannot take a model of another program yet",
           "a run of `train()`; eval, generate and spectrum take such models",
           "`model(" + path + ")` tells what can be done with it");
}

void refuse_mixture(const std::string& path) {
  bad_file(path, "a mixture of experts is not run yet: its experts are read one at a time", "a dense model",
           "`spectrum(" + path + ", expert=1, hidden=1)`");
}

LanguageFile open_language_file(const RunSource& source, const Json* config) {
  std::string clean = source.run;
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  LanguageFile m{
      .info = RunInfo{.directory = clean}, .own = nullptr, .model = FamilyModel(open_weights(clean, config))};
  const bool given = !source.tokenizer.empty();
  const std::string where = given ? source.tokenizer : Tokenizer::file_of_model(m.model.file());
  try {
    m.tokenizer = given ? Tokenizer::read(source.tokenizer) : Tokenizer::of_model(m.model.file());
    if (!m.tokenizer.empty()) {
      check_tokenizer(m.model, m.tokenizer, where);
      check_marks(m.model, m.tokenizer, where);
    }
  } catch (const Error& e) {
    if (given || e.code() != ErrorCode::bad_file) throw;
    m.tokenizer = {}, m.refused = e.parts();
  }
  if (given)
    if (const Tokenizer own = own_tokenizer(m.model); !own.empty()) check_pieces(own, m.tokenizer, where);
  return m;
}

}  // namespace glint
