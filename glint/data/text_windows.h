// A text in pieces that fit into a model's window: each token counts in one of them, and those after the
// first piece have half a window or more before them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace glint {

struct TextWindow {
  size_t first = 0, count = 0;  // tokens of the text
  size_t from = 0;              // of these, those that count
};

inline std::vector<TextWindow> text_windows(size_t tokens, size_t window) {
  std::vector<TextWindow> out;
  const size_t most = std::min(window, tokens);
  for (size_t done = 0; done < tokens;) {
    const size_t first = done == 0 ? 0 : std::min(done - window / 2, tokens - most);
    out.push_back({first, most, done - first});
    done = first + most;
  }
  return out;
}

}  // namespace glint
