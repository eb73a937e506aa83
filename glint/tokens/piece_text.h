// What tokenizers of every kind do with the texts of pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/tokens.h"

namespace glint {

std::string byte_name(unsigned char byte);  // "<0x0A>"
int named_byte(std::string_view piece);     // the byte of "<0x0A>"; -1 for anything else

// Every `from` in `text` as `to`; `from` is not empty.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

// Finds ids by text. The texts stay where they are and are given at every call: they must not change.
class PieceIndex {
 public:
  PieceIndex() = default;
  // Where two pieces have the same text, the later id is found.
  PieceIndex(const std::vector<std::string>& pieces, std::vector<TokenId> ids);

  std::optional<TokenId> find(const std::vector<std::string>& pieces, std::string_view text) const;
  std::optional<TokenId> twin() const { return twin_; }  // an id whose text another one has, too

 private:
  struct Slot {
    uint32_t hash = 0;
    TokenId id = kFree;
  };
  static constexpr TokenId kFree = UINT32_MAX;
  // The slot of a text, or the free one where it would be.
  size_t place(const std::vector<std::string>& pieces, std::string_view text, uint32_t hash) const;

  std::vector<Slot> slots_;  // a power of two, at least twice as many as there are ids
  std::optional<TokenId> twin_;
};

}  // namespace glint
