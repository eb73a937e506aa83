// The ids of words that were encoded before: most words of a text have been there already.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "glint/base/tokens.h"

namespace glint {

class WordMemory {
 public:
  // Appends to `ids` what encode(word, ids) appends.
  template <class Encode>
  void encode(std::string_view word, std::vector<TokenId>& ids, Encode&& encode) {
    if (word.size() > kLongest) return encode(word, ids);
    auto at = words_.find(word);
    if (at == words_.end()) {
      if (words_.size() == kMost) words_.clear(), ids_.clear();
      const size_t first = ids_.size();
      encode(word, ids_);
      at = words_.emplace(word, Span{static_cast<uint32_t>(first), static_cast<uint32_t>(ids_.size() - first)}).first;
    }
    const auto from = ids_.begin() + at->second.first;
    ids.insert(ids.end(), from, from + at->second.count);
  }

 private:
  static constexpr size_t kMost = size_t{1} << 16, kLongest = 64;  // words; bytes of one
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  struct Span {
    uint32_t first, count;
  };
  std::unordered_map<std::string, Span, Hash, std::equal_to<>> words_;
  std::vector<TokenId> ids_;  // of all of them
};

}  // namespace glint
