// Text whose words are coloured by how strongly something responds to them: red for one side, blue for the
// other, as signed pictures are.
#pragma once

#include <string>
#include <vector>

namespace glint {

struct MarkedWord {
  std::string text;     // with the space before it
  double strength = 0;  // -1 to 1: its sign is the side
  bool strongest = false;
};

struct MarkedText {
  std::string title = {};  // small, above
  std::vector<MarkedWord> words;
};

// A piece of HTML that needs no style sheet; it reads well on light and on dark paper.
std::string marked_html(const MarkedText& text);

}  // namespace glint
