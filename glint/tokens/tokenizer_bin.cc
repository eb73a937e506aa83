// tokenizer.bin of llama2.c: i32 longest piece, then for every piece f32 score, i32 length, bytes. The number
// of pieces is the model's: the file ends with the last one. Spaces are spaces. Ids 0, 1, 2 are the unknown
// piece, the beginning and the end; ids 3 to 258 are the bytes 0 to 255. An old dialect has for each byte the
// character of that number, so that most of them have the text of a piece further on: the later id is meant.
#include <cmath>
#include <cstring>

#include "glint/base/error.h"
#include "glint/tokens/score_tokenizer.h"
#include "glint/tokens/unicode.h"

namespace glint {
namespace {

constexpr size_t kByteIds = 3, kFirstPiece = kByteIds + 256, kMaxBinPiece = 65535;

bool is_byte_piece(const std::string& piece, unsigned char byte) {
  std::string character;
  append_utf8(character, byte);
  return piece == byte_name(byte) || piece == character;
}

}  // namespace

std::shared_ptr<TokenizerModel> parse_tokenizer_bin(std::string_view file, const std::string& where) {
  size_t at = 0;
  const auto number = [&](auto& value, const char* what) {
    if (file.size() - at < sizeof value)
      refuse(where, at, std::string("the file ends within ") + what, "a tokenizer.bin of llama2.c");
    std::memcpy(&value, file.data() + at, sizeof value);
    at += sizeof value;
  };
  int32_t longest = 0;
  number(longest, "the header");
  if (longest < 1 || static_cast<size_t>(longest) > kMaxBinPiece)
    refuse(where, 0, "the longest piece has " + std::to_string(longest) + " bytes",
           "1 to " + std::to_string(kMaxBinPiece) + "; is this a tokenizer.bin of llama2.c?");
  ScoreParts parts;
  parts.space = " ";
  while (at < file.size()) {
    const size_t begin = at;
    float score = 0;
    int32_t length = 0;
    number(score, "a score");
    number(length, "the length of a piece");
    if (!std::isfinite(score)) refuse(where, begin, "a score is no number", "finite scores");
    if (length < 0 || length > longest || static_cast<size_t>(length) > file.size() - at)
      refuse(where, begin + 4, "a piece of " + std::to_string(length) + " bytes",
             "at most " + std::to_string(longest) + ", and not beyond the end of the file");
    if (parts.pieces.size() == kMaxVocab)
      refuse(where, begin, "too many pieces", "at most " + std::to_string(kMaxVocab));
    const size_t id = parts.pieces.size();
    parts.pieces.emplace_back(file.substr(at, static_cast<size_t>(length)));
    parts.scores.push_back(score);
    at += static_cast<size_t>(length);
    if (id >= kByteIds && id < kFirstPiece &&
        !is_byte_piece(parts.pieces[id], static_cast<unsigned char>(id - kByteIds)))
      refuse(where, begin, "piece " + std::to_string(id) + " is not that of byte " + std::to_string(id - kByteIds),
             "bytes in the order of a tokenizer of the Llama family");
  }
  const size_t size = parts.pieces.size();
  if (size < kFirstPiece)
    refuse(where, at, "the tokenizer has " + std::to_string(size) + " pieces",
           "at least " + std::to_string(kFirstPiece));
  parts.types.assign(size, ScoreParts::Type::normal);
  parts.types[0] = ScoreParts::Type::unknown;
  parts.types[1] = parts.types[2] = ScoreParts::Type::control;
  for (const size_t mark : {1, 2})  // stored as "\n<s>\n" for a program that prints them
    std::erase(parts.pieces[mark], '\n');
  for (unsigned b = 0; b < 256; b++) {
    parts.types[kByteIds + b] = ScoreParts::Type::byte;
    parts.bytes[b] = static_cast<TokenId>(kByteIds + b);
  }
  const auto tokenizer = std::make_shared<ScoreTokenizer>(std::move(parts));
  tokenizer->format = TokenizerFormat::llama2c;
  tokenizer->unknown_id = 0;
  tokenizer->begin_id = 1;
  tokenizer->end_id = 2;
  tokenizer->prefix = {1};
  return tokenizer;
}

}  // namespace glint
