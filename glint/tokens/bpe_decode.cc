#include <algorithm>
#include <cassert>

#include "glint/base/utf8.h"
#include "glint/io/json_cursor.h"
#include "glint/tokens/bpe_tokenizer.h"
#include "glint/tokens/piece_model.h"
#include "glint/tokens/unicode.h"

namespace glint {
namespace {

using Pieces = std::vector<std::string>;

// Runs of bytes that are UTF-8 together become text, others one U+FFFD for each byte.
Pieces join_named_bytes(const Pieces& pieces) {
  Pieces out;
  std::string run;
  const auto flush = [&] {
    bool good = true;
    for (size_t i = 0, n = 0; i < run.size() && good; i += n)
      if ((n = utf8_length(std::string_view(run).substr(i))) == 0) good = false;
    if (good && !run.empty()) out.push_back(run);
    if (!good)
      for (size_t i = 0; i < run.size(); i++) out.push_back("\xEF\xBF\xBD");
    run.clear();
  };
  for (const std::string& piece : pieces) {
    if (const int byte = named_byte(piece); byte >= 0) {
      run += static_cast<char>(byte);
      continue;
    }
    flush();
    out.push_back(piece);
  }
  flush();
  return out;
}

std::string stripped(const std::string& piece, const DecoderStep& step) {
  std::string_view rest = piece;
  for (size_t i = 0; i < step.start && rest.starts_with(step.from); i++) rest.remove_prefix(step.from.size());
  for (size_t i = 0; i < step.stop && rest.ends_with(step.from); i++) rest.remove_suffix(step.from.size());
  return std::string(rest);
}

Pieces decode_step(Pieces pieces, const DecoderStep& step) {
  switch (step.kind) {
    case DecoderStep::Kind::byte_level: {
      std::string all, bytes;
      for (const std::string& piece : pieces) all += bytes_of_letters(piece, bytes) ? bytes : piece;
      return {lossy_utf8(all)};
    }
    case DecoderStep::Kind::replace:
      for (std::string& piece : pieces) piece = replaced(piece, step.from, step.to);
      return pieces;
    case DecoderStep::Kind::byte_fallback:
      return join_named_bytes(pieces);
    case DecoderStep::Kind::fuse: {
      std::string all;
      for (const std::string& piece : pieces) all += piece;
      return {all};
    }
    case DecoderStep::Kind::strip:
      for (std::string& piece : pieces) piece = stripped(piece, step);
      return pieces;
    case DecoderStep::Kind::metaspace:
      for (size_t i = 0; i < pieces.size(); i++)
        pieces[i] = replaced(pieces[i], step.from, i == 0 && !step.keeps_first_space ? "" : " ");
      return pieces;
  }
  return pieces;
}

}  // namespace

bool BpeTokenizer::is_byte(TokenId id) const {
  const std::string& piece = parts_.pieces[id];
  if (!byte_level_) return parts_.byte_fallback && named_byte(piece) >= 0;
  // A piece of one byte that is no character by itself.
  std::string bytes;
  return bytes_of_letters(piece, bytes) && bytes.size() == 1 && static_cast<unsigned char>(bytes[0]) >= 0x80;
}

// A byte-level piece is shown as its text, with a low block for a space as in the other kinds; bytes that are
// no character by themselves as <0xE2>.
std::string BpeTokenizer::piece(TokenId id) const {
  assert(id < size());
  const std::string& stored = parts_.pieces[id];
  std::string bytes;
  if (!byte_level_ || special_[id] || !bytes_of_letters(stored, bytes)) return stored;
  std::string shown;
  for (size_t i = 0; i < bytes.size();) {
    const size_t n = utf8_length(std::string_view(bytes).substr(i));
    if (n == 0) {
      shown += byte_name(static_cast<unsigned char>(bytes[i]));
    } else if (bytes[i] == ' ') {
      shown += kPieceSpace;
    } else {
      shown.append(bytes, i, n);
    }
    i += std::max<size_t>(n, 1);
  }
  return shown;
}

std::optional<TokenId> BpeTokenizer::find(std::string_view spelled) const {
  if (byte_level_) {
    std::string bytes = replaced(spelled, kPieceSpace, " ");
    if (const int byte = named_byte(spelled); byte >= 0) bytes = static_cast<char>(byte);
    if (const auto id = id_of(byte_letters(bytes))) return id;
  } else if (const auto id = id_of(spelled)) {
    return id;
  }
  for (const AddedToken& token : parts_.added)
    if (token.content == spelled) return token.id;
  return std::nullopt;
}

std::string BpeTokenizer::decode(std::span<const TokenId> ids) const {
  Pieces pieces;
  for (const TokenId id : ids) {
    assert(id < size());
    if (special_[id] || parts_.pieces[id].empty()) continue;
    const auto changed = normalized_texts_.find(id);  // as the library shows it
    pieces.push_back(changed == normalized_texts_.end() ? parts_.pieces[id] : changed->second);
  }
  for (const DecoderStep& step : parts_.decoder) pieces = decode_step(std::move(pieces), step);
  std::string text;
  for (size_t i = 0; i < pieces.size(); i++) {
    if (i > 0 && !parts_.has_decoder) text += ' ';
    text += pieces[i];
  }
  return text;
}

}  // namespace glint
