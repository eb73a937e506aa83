#include "glint/tokens/score_tokenizer.h"

#include <algorithm>
#include <cassert>

#include "glint/base/utf8.h"
#include "glint/io/json_cursor.h"
#include "glint/tokens/pair_merges.h"
#include "glint/tokens/piece_model.h"
#include "glint/tokens/word_memory.h"

namespace glint {
namespace {

constexpr TokenId kNoPiece = UINT32_MAX;

}  // namespace

ScoreTokenizer::ScoreTokenizer(ScoreParts parts) : parts_(std::move(parts)) {
  using Type = ScoreParts::Type;
  const auto& pieces = parts_.pieces;
  std::vector<TokenId> ids;
  for (size_t id = 0; id < pieces.size(); id++) {
    const Type type = parts_.types[id];
    if (type == Type::user) user_lengths_.push_back(pieces[id].size());
    if (pieces[id].empty() || (type != Type::normal && type != Type::user)) continue;
    ids.push_back(static_cast<TokenId>(id));
    longest_ = std::max(longest_, pieces[id].size());
    if (type == Type::user) user_first_[static_cast<unsigned char>(pieces[id][0])] = true;
    for (size_t at = next_word(pieces[id]); at < pieces[id].size(); at = next_word(pieces[id], at))
      crossed_[static_cast<unsigned char>(pieces[id][at - 1])] = true;
  }
  index_ = PieceIndex(pieces, std::move(ids));
  std::sort(user_lengths_.rbegin(), user_lengths_.rend());
  user_lengths_.erase(std::unique(user_lengths_.begin(), user_lengths_.end()), user_lengths_.end());
  byte_fallback = std::all_of(parts_.bytes.begin(), parts_.bytes.end(), [](const auto& b) { return b.has_value(); });
}

std::optional<TokenId> ScoreTokenizer::id_of(std::string_view piece) const { return index_.find(parts_.pieces, piece); }

int ScoreTokenizer::byte_of(TokenId id) const {
  if (parts_.types[id] != ScoreParts::Type::byte) return -1;
  const auto at = std::find(parts_.bytes.begin(), parts_.bytes.end(), std::optional<TokenId>(id));
  return at == parts_.bytes.end() ? -1 : static_cast<int>(at - parts_.bytes.begin());
}

size_t ScoreTokenizer::next_word(std::string_view text, size_t from) const {
  const std::string_view space = parts_.space;
  while ((from = text.find(space, from + 1)) != text.npos)
    if (!text.substr(0, from).ends_with(space)) return from;
  return text.size();
}

size_t ScoreTokenizer::user_piece(std::string_view text, TokenId& id) const {
  if (!user_first_[static_cast<unsigned char>(text[0])]) return 0;
  for (const size_t n : user_lengths_) {
    if (n == 0 || n > text.size()) continue;
    if (const auto found = id_of(text.substr(0, n)); found && parts_.types[*found] == ScoreParts::Type::user) {
      id = *found;
      return n;
    }
  }
  return 0;
}

std::string ScoreTokenizer::piece(TokenId id) const {
  assert(id < size());
  if (const int byte = byte_of(id); byte >= 0) return byte_name(static_cast<unsigned char>(byte));
  return replaced(parts_.pieces[id], parts_.space, kPieceSpace);
}

std::optional<TokenId> ScoreTokenizer::find(std::string_view spelled) const {
  if (const auto id = id_of(replaced(spelled, kPieceSpace, parts_.space))) return id;
  for (TokenId id = 0; id < size(); id++)
    if (parts_.types[id] != ScoreParts::Type::normal && piece(id) == spelled) return id;
  return std::nullopt;
}

void ScoreTokenizer::encode(std::string_view text, std::vector<TokenId>& ids) const {
  if (text.empty()) return;
  std::string all = parts_.space_first ? parts_.space : "";
  all += parts_.space == " " ? std::string(text) : replaced(text, " ", parts_.space);
  // Of unknown characters in a row, spaces among them, one piece comes out.
  if (!byte_fallback) return encode_part(all, ids);
  WordMemory remembered;
  for (std::string_view rest = all; !rest.empty();) {
    size_t end = next_word(rest);
    while (end < rest.size() && crossed_[static_cast<unsigned char>(rest[end - 1])]) end = next_word(rest, end);
    remembered.encode(rest.substr(0, end), ids,
                      [&](std::string_view part, std::vector<TokenId>& to) { encode_part(part, to); });
    rest.remove_prefix(end);
  }
}

void ScoreTokenizer::encode_part(std::string_view all, std::vector<TokenId>& ids) const {
  std::vector<MergeSymbol> symbols;
  for (size_t i = 0; i < all.size();) {
    const std::string_view rest = all.substr(i);
    TokenId id = kNoPiece;
    size_t n = user_piece(rest, id);
    if (n == 0) {
      n = std::max<size_t>(1, utf8_length(rest.substr(0, 4)));
      id = id_of(rest.substr(0, n)).value_or(kNoPiece);
    }
    symbols.push_back({id, i, n});
    i += n;
  }
  const auto is_user = [&](const MergeSymbol& s) {
    return s.id != kNoPiece && parts_.types[s.id] == ScoreParts::Type::user;
  };
  merge_pairs(symbols, [&](const MergeSymbol& a, const MergeSymbol& b) -> std::optional<MergeRule> {
    if (a.length + b.length > longest_ || is_user(a) || is_user(b)) return std::nullopt;
    const auto id = id_of(all.substr(a.begin, a.length + b.length));
    if (!id) return std::nullopt;
    return MergeRule{-static_cast<double>(parts_.scores[*id]), *id};
  });
  bool last_unknown = false;
  for (const MergeSymbol& s : symbols) {
    if (s.length == 0) continue;
    const bool is_unknown = s.id == kNoPiece && !byte_fallback;
    if (s.id != kNoPiece) {
      ids.push_back(s.id);
    } else if (byte_fallback) {
      for (size_t k = 0; k < s.length; k++) ids.push_back(*parts_.bytes[static_cast<unsigned char>(all[s.begin + k])]);
    } else if (unknown_id && !last_unknown) {  // of several in a row one, as in SentencePiece
      ids.push_back(*unknown_id);
    }
    last_unknown = is_unknown;
  }
}

std::string ScoreTokenizer::decode(std::span<const TokenId> ids) const {
  std::string text, bytes;
  bool first_space = parts_.space_first;  // the one that was put before the text is taken away
  const auto flush = [&] {                // every byte that is no character by itself is one U+FFFD
    for (size_t i = 0; i < bytes.size();) {
      const size_t n = utf8_length(std::string_view(bytes).substr(i, 4));
      text += n ? bytes.substr(i, n) : "\xEF\xBF\xBD";
      i += std::max<size_t>(n, 1);
    }
    bytes.clear();
  };
  for (const TokenId id : ids) {
    assert(id < size());
    const std::string& stored = parts_.pieces[id];
    switch (parts_.types[id]) {
      case ScoreParts::Type::byte:
        if (const int byte = byte_of(id); byte >= 0) bytes += static_cast<char>(byte);
        break;
      case ScoreParts::Type::control:
        flush();
        break;
      case ScoreParts::Type::unknown:
        flush();
        text += " \xE2\x81\x87 ";  // as SentencePiece shows it
        break;
      default: {
        flush();
        std::string_view shown = stored;
        if (first_space && text.empty() && shown.starts_with(parts_.space)) {
          shown.remove_prefix(parts_.space.size());
          first_space = false;
        }
        text += replaced(shown, parts_.space, " ");
      }
    }
  }
  flush();
  return text;
}

}  // namespace glint
