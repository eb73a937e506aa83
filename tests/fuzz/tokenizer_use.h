// What every tokenizer that a reader lets through must stand.
#pragma once

#include <cstdlib>

#include "glint/tokens/tokenizer_model.h"

namespace glint {

inline void use_tokenizer(const TokenizerModel& t) {
  std::vector<TokenId> ids;
  t.encode("Once upon a time \xC3\x9C\xE4\xBD\xA0\xEF\xAC\x81 \xF0\x9F\x98\x80 aaaa 123's\n\n\xff<s>", ids);
  for (const TokenId id : ids)
    if (id >= t.size()) std::abort();
  for (const auto& mark : {t.begin_id, t.end_id, t.unknown_id})
    if (mark && *mark >= t.size()) std::abort();
  for (const TokenId id : t.prefix)
    if (id >= t.size()) std::abort();
  t.decode(ids);
  for (TokenId id = 0; id < t.size() && id < 300; id++) ids.push_back(id), t.find(t.piece(id));
  t.decode(ids);
}

}  // namespace glint
