#include "glint/tokens/piece_model.h"

#include <cmath>
#include <cstring>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/io/json_cursor.h"

namespace glint {
namespace {

constexpr size_t kMaxPieceBytes = 1024;
// Types of pieces.
constexpr uint64_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

// One field of a message; the bytes of a string, or the number.
struct Field {
  uint64_t number = 0;
  enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 } wire = Wire::varint;
  uint64_t value = 0;
  std::string_view bytes = {};
  size_t byte = 0;  // where its content starts in the file
  bool is(uint64_t n, Wire w) const { return number == n && wire == w; }
};
using Wire = Field::Wire;

class Message {
 public:
  Message(std::string_view bytes, size_t first_byte, const std::string& where)
      : bytes_(bytes), first_(first_byte), where_(where) {}

  bool next(Field& f) {
    if (at_ == bytes_.size()) return false;
    const uint64_t tag = varint();
    f.number = tag >> 3;
    f.wire = static_cast<Wire>(tag & 7);
    if (f.number == 0 || f.number > 0x1fffffff) fail("a field with the number " + std::to_string(f.number));
    f.byte = first_ + at_;
    switch (f.wire) {
      case Wire::varint:
        f.value = varint();
        return true;
      case Wire::fixed32:
        f.value = fixed(4);
        return true;
      case Wire::fixed64:
        f.value = fixed(8);
        return true;
      case Wire::bytes: {
        const uint64_t n = varint();
        if (n > bytes_.size() - at_)
          fail("a field of " + std::to_string(n) + " bytes, " + std::to_string(bytes_.size() - at_) + " are left");
        f.byte = first_ + at_;
        f.bytes = bytes_.substr(at_, n);
        at_ += n;
        return true;
      }
    }
    fail("a field of the unknown kind " + std::to_string(tag & 7));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    refuse(where_, first_ + at_, "not a SentencePiece model: " + what,
           "a file that SentencePiece or `tokenize()` wrote (tokenizer.model)");
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail("the file ends within a number");
      const auto b = static_cast<unsigned char>(bytes_[at_++]);
      value |= uint64_t{b & 0x7fu} << shift;
      if (b < 0x80) return value;
    }
    fail("a number of more than 64 bits");
  }
  uint64_t fixed(size_t n) {
    if (bytes_.size() - at_ < n) fail("the file ends within a number");
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, n);
    at_ += n;
    return value;
  }
  std::string_view bytes_;
  size_t first_, at_ = 0;
  const std::string& where_;
};

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t n = utf8_length(text.substr(i));
    if (n == 0) return false;
    i += n;
  }
  return true;
}

// What a walk through the trie can reach stays inside it. A unit: bits 0-7 and 31 label, 8 has a value, 9 the
// offset counts by 256, 10-30 offset; the value is a unit of its own with bit 31 set.
void check_trie(std::string_view trie, std::string_view texts, const std::string& where, size_t byte) {
  const size_t units = trie.size() / 4;
  const auto unit = [&](size_t i) {
    uint32_t u = 0;
    std::memcpy(&u, trie.data() + 4 * i, 4);
    return u;
  };
  const auto bad = [&](size_t i, const char* what) {
    refuse(where, byte + 4 * i, std::string("the table of characters is damaged: ") + what,
           "a table whose units point into it");
  };
  std::vector<bool> seen(units);
  std::vector<uint32_t> open = {0};
  if (units == 0) bad(0, "it is empty");
  seen[0] = true;
  while (!open.empty()) {
    const size_t node = open.back();
    open.pop_back();
    const uint32_t u = unit(node);
    const size_t base = node ^ (size_t{u >> 10} << ((u & (1u << 9)) >> 6));
    if ((base | 0xff) >= units) bad(node, "a unit points past its end");
    if (u >> 8 & 1) {
      const uint32_t value = unit(base) & 0x7fffffffu;
      if (value >= texts.size()) bad(base, "a replacement lies past its end");
    }
    for (uint32_t c = 1; c < 256; c++) {
      const size_t child = base ^ c;
      if ((unit(child) & (0x80000000u | 0xffu)) != c || seen[child]) continue;
      seen[child] = true;
      open.push_back(static_cast<uint32_t>(child));
    }
  }
}

void check_table(std::string_view table, const std::string& where, size_t byte) {
  if (table.empty()) return;
  uint32_t bytes = 0;
  if (table.size() < 4) refuse(where, byte, "the table of characters is too short", "at least 4 bytes");
  std::memcpy(&bytes, table.data(), 4);
  if (bytes % 4 != 0 || bytes >= table.size() - 4)
    refuse(where, byte, "the table of characters claims a trie of " + std::to_string(bytes) + " bytes",
           "a multiple of 4 below " + std::to_string(table.size() - 4));
  const std::string_view texts = table.substr(4 + bytes);
  if (texts.back() != '\0')
    refuse(where, byte + table.size() - 1, "the table of characters has no end", "a zero byte at its end");
  if (!is_utf8(texts))
    refuse(where, byte + 4 + bytes, "a replacement in the table of characters is not UTF-8", "UTF-8");
  check_trie(table.substr(4, bytes), texts, where, byte + 4);
}

struct Normalizer {
  std::string_view table = {};
  size_t table_byte = 0;
  bool dummy_prefix = true, remove_extra = true, escape = true;
};

void read_normalizer(const Field& field, const std::string& where, Normalizer& n) {
  Message message(field.bytes, field.byte, where);
  for (Field f; message.next(f);) {
    if (f.is(2, Wire::bytes)) n.table = f.bytes, n.table_byte = f.byte;
    if (f.is(3, Wire::varint)) n.dummy_prefix = f.value != 0;
    if (f.is(4, Wire::varint)) n.remove_extra = f.value != 0;
    if (f.is(5, Wire::varint)) n.escape = f.value != 0;
  }
}

// Gives the type. `crosses`: a space stands behind the first character; `joins`: behind one that is no space.
uint64_t check_piece(const Field& field, const std::string& where, bool& crosses, bool& joins) {
  std::string_view text;
  uint64_t type = kNormal;
  float score = 0;
  Message message(field.bytes, field.byte, where);
  for (Field f; message.next(f);) {
    if (f.is(1, Wire::bytes)) text = f.bytes;
    if (f.is(2, Wire::fixed32)) std::memcpy(&score, &f.value, 4);
    if (f.is(3, Wire::varint)) type = f.value;
  }
  if (text.empty() || text.size() > kMaxPieceBytes || text.find('\0') != text.npos || !is_utf8(text))
    refuse(where, field.byte, "a piece of " + std::to_string(text.size()) + " bytes that is no text",
           "1 to " + std::to_string(kMaxPieceBytes) + " bytes of UTF-8");
  if (!std::isfinite(score)) refuse(where, field.byte, "the score of a piece is no number", "finite scores");
  if (type < kNormal || type > kByte)
    refuse(where, field.byte, "a piece of the unknown type " + std::to_string(type), "types 1 to 6");
  if (type == kNormal || type == kUserDefined || type == kUnused) {
    crosses = text.find(kPieceSpace, 1) != text.npos || text.find(' ') != text.npos;
    while (text.starts_with(kPieceSpace)) text.remove_prefix(kPieceSpace.size());
    joins = text.find(kPieceSpace) != text.npos || text.find(' ') != text.npos;
  }
  return type;
}

}  // namespace

PieceModelInfo check_piece_model(std::span<const std::byte> file, const std::string& where) {
  if (file.size() > kMaxModelBytes)
    refuse(where, kMaxModelBytes, "the tokenizer has " + std::to_string(file.size()) + " bytes",
           "at most " + std::to_string(kMaxModelBytes >> 20) + " MB");
  PieceModelInfo info;
  Normalizer normalizer, denormalizer;
  uint64_t type = static_cast<uint64_t>(info.type), type_byte = 0, suffix = 0, unknown = 0;
  bool any_crosses = false, any_joins = false;
  Message message({reinterpret_cast<const char*>(file.data()), file.size()}, 0, where);
  for (Field f; message.next(f);) {
    if (f.is(1, Wire::bytes)) {
      bool crosses = false, joins = false;
      unknown += check_piece(f, where, crosses, joins) == kUnknown;
      any_crosses |= crosses;
      any_joins |= joins;
      if (++info.pieces > kMaxPieces)
        refuse(where, f.byte, "the tokenizer has more than " + std::to_string(kMaxPieces) + " pieces",
               "a vocabulary of a language model");
    } else if (f.is(2, Wire::bytes)) {
      Message spec(f.bytes, f.byte, where);
      for (Field g; spec.next(g);) {
        if (g.is(3, Wire::varint)) type = g.value, type_byte = g.byte;
        if (g.is(24, Wire::varint)) suffix = g.value;
        if (g.is(35, Wire::varint)) info.byte_fallback = g.value != 0;
      }
    } else if (f.is(3, Wire::bytes)) {
      read_normalizer(f, where, normalizer);
    } else if (f.is(5, Wire::bytes)) {
      read_normalizer(f, where, denormalizer);
    }
  }
  if (info.pieces == 0) refuse(where, 0, "not a SentencePiece model: it has no pieces", "a tokenizer.model file");
  if (unknown != 1) refuse(where, 0, std::to_string(unknown) + " pieces stand for unknown characters", "exactly one");
  if (type != 1 && type != 2)
    refuse(where, type_byte, "the tokenizer is of kind " + std::to_string(type), "1 (unigram) or 2 (BPE)");
  info.type = static_cast<PieceModelInfo::Type>(type);
  check_table(normalizer.table, where, normalizer.table_byte);
  check_table(denormalizer.table, where, denormalizer.table_byte);
  info.by_word = !any_crosses && suffix == 0 && normalizer.dummy_prefix && normalizer.remove_extra && normalizer.escape;
  info.cuts_at_spaces = !any_joins && suffix == 0 && normalizer.escape;
  info.dummy_prefix = normalizer.dummy_prefix;
  info.remove_extra = normalizer.remove_extra;
  return info;
}

}  // namespace glint
