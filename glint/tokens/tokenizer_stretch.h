// Where a long text can be cut so that its parts, encoded one by one, give the ids of the whole.
#pragma once

#include <cstddef>
#include <string_view>

#include "glint/tokens/piece_model.h"

namespace glint {

inline constexpr size_t kMaxStretch = size_t{1} << 16;

struct TextStretch {
  std::string_view text;  // to be encoded
  size_t bytes = 0;       // how much of the whole is done with it
};

// Words up to kMaxStretch bytes, or as much of a longer one. Models that keep every space are cut at a single
// space, which the next part gets back as its dummy prefix; where that cannot be, the whole text is one part.
TextStretch first_stretch(std::string_view text, const PieceModelInfo& info);
// One word, or kMaxStretch bytes of a longer one.
std::string_view first_word(std::string_view text);

}  // namespace glint
