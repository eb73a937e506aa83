// What an eigenvector or a hidden unit of a language model responds to: the passages of a text in which it is
// strongest, word by word.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "glint/lab/models/language_run.h"
#include "glint/lab/read/near_tokens.h"
#include "glint/report/marked_text.h"
#include "glint/spectra/passages.h"

namespace glint {

// Where passages are looked for, as Run::samples names it.
struct PassageText {
  std::string name;
  uint64_t stories = 0, tokens = 0;
  bool whole = true;  // false: the limit was reached before the end
};

struct PassageToken {
  TokenId id = 0;
  std::string piece;    // as the tokenizer spells it
  std::string text;     // its part of the text, with the space before it
  double shown = 0;     // v . x of an eigenvector, gate(l) r of a hidden unit
  double strength = 0;  // -1 to 1: the side, and how strong beside the strongest token of all passages
};

struct ShownPassage {
  uint64_t story = 0, first = 0;  // story of the text, from 1 on; place of the first token in it, from 1 on
  double value = 0;               // at the strongest token: eigenvalue (v . x)^2, or gate(l) r
  size_t strongest = 0;           // among the tokens
  std::vector<PassageToken> tokens;
};

struct Responses {
  std::string name;  // "eigenvector +1.25", "hidden unit 12, above 0"
  bool eigenvector = true;
  double value = 0;      // of an eigenvector
  NearTokens near = {};  // of an eigenvector
  double mean = 0;       // of |value| over all tokens
  std::vector<ShownPassage> passages = {};
};

inline constexpr uint64_t kPassageTokens = 200000;

struct PassagesRequest {
  RunSource source = {};
  // Texts to look in, in memory; none: the file that `source.text` names, whole; else the validation stories
  // of the run, or the built-in tales.
  std::vector<std::string> texts = {};
  std::optional<size_t> layer = {};    // from 1 on; none: the last
  Matrix<double> vectors = {};         // eigenvectors of that layer [n, width], as `read` gives them
  std::vector<double> values = {};     // their eigenvalues [n]
  std::vector<uint64_t> numbers = {};  // what they are called; empty: 1, 2, ...
  std::vector<size_t> hidden = {};     // numbers of hidden units, from 1 on
  size_t count = 3;                    // passages of each
  size_t near = 8;                     // tokens for an eigenvector
  uint64_t tokens = kPassageTokens;    // to look at; 0: all
};
std::vector<Field> fields_of(PassagesRequest& request);

struct PassagesResult {
  std::string run, model, linalg;
  size_t layer = 0, layers = 0;  // from 0
  PassageText text;
  std::vector<Responses> responses;  // one per eigenvector, then two per hidden unit: above and below 0
};

// Tells its progress and can be stopped. The same at any number of threads; a long text is not held in
// memory.
PassagesResult passages(const Engine& engine, const PassagesRequest& request);
// The same for a run that is open already.
PassagesResult passages(const Engine& engine, LanguageRun& run, const PassagesRequest& request);

// Where they were looked for: "the first 200000 tokens of stories.txt, 1024 stories".
std::string searched_text(const PassageText& text);
// "+12.3, 41 times the mean, along; story 17": above a passage.
std::string passage_caption(const Responses& responses, const ShownPassage& passage);
MarkedText marked(const Responses& responses, const ShownPassage& passage);
// A piece of HTML, and a page of its own in the look of the explorer.
std::string passages_html(const PassagesResult& result);
std::string passages_page(const PassagesResult& result, const std::string& title,
                          const std::vector<std::string>& facts = {});
// "schema": "glint-passages/1".
nlohmann::ordered_json to_json(const PassagesResult& result);
nlohmann::ordered_json to_json(const Responses& responses);
nlohmann::ordered_json text_json(const PassageText& text);

}  // namespace glint
