#include "glint/lab/read/near_tokens.h"

#include <nlohmann/json.hpp>

#include "glint/lab/models/language_run.h"
#include "glint/lab/read/read_directions.h"

namespace glint {

std::vector<NearTokens> near_tokens(const LanguageRun& run, ConstMatrixView<double> vectors, size_t count) {
  std::vector<NearTokens> out;
  if (vectors.rows() == 0) return out;
  const Tokenizer& tokenizer = run.tokenizer();
  const auto named = [&](const std::vector<LanguageReading::NearToken>& side) {
    std::vector<NearToken> tokens;
    for (const LanguageReading::NearToken& n : side)
      tokens.push_back({n.token, tokenizer.piece(n.token), piece_text(tokenizer, n.token), n.cosine});
    return tokens;
  };
  for (const LanguageReading::NearTokens& n :
       run.reading().near(vectors, count, [&](TokenId t) { return is_text(tokenizer, t); }))
    out.push_back({named(n.positive), named(n.negative)});
  return out;
}

std::string token_list(const std::vector<NearToken>& tokens) {
  std::string out;
  for (const NearToken& t : tokens) out += (out.empty() ? "" : " ") + t.text;
  return out;
}

nlohmann::ordered_json near_json(const std::vector<NearToken>& tokens) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const NearToken& t : tokens) out.push_back({{"token", t.piece}, {"id", t.id}, {"cosine", t.cosine}});
  return out;
}

bool is_text(const Tokenizer& tokenizer, TokenId token) {
  return token < tokenizer.size() && token != tokenizer.unknown() && !tokenizer.is_byte(token) &&
         !tokenizer.is_control(token);
}

std::vector<std::string> text_of_tokens(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
  // Bytes of a character that is not complete yet look like this.
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::vector<std::string> out;
  size_t shown = 0;
  for (size_t n = 1; n <= tokens.size(); n++) {
    const std::string text = tokenizer.decode(tokens.first(n));
    size_t end = text.size();
    while (n < tokens.size() && std::string_view(text).substr(0, end).ends_with(kReplacement))
      end -= kReplacement.size();
    out.push_back(end > shown ? text.substr(shown, end - shown) : "");
    shown = std::max(shown, end);
  }
  return out;
}

}  // namespace glint
