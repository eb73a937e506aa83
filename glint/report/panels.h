// Small maps side by side with captions: masks, images, similarity matrices. A grid becomes SVG, each map a
// picture inside it, and CSV with the same numbers.
#pragma once

#include <string>
#include <vector>

#include "glint/base/matrix.h"

namespace glint {

enum class PanelTone {
  gray,       // 0 black, 1 white: an image
  diverging,  // blue below 0, white at 0, red above; the largest magnitude has the full colour
  share       // 0 white to 1 dark blue
};

struct Panel {
  Matrix<double> values;                  // [height, width]; what is outside the range of the tone is cut off
  std::vector<std::string> caption = {};  // lines below, centred
  PanelTone tone = PanelTone::gray;
};

struct PanelGrid {
  std::string title;
  std::vector<std::string> notes = {};  // lines below the title
  std::vector<Panel> panels;
  size_t columns = 5;
  double panel_width = 112;  // in the units of the SVG; the height follows from the first panel's shape
  bool scale_bar = false;    // what the colours of `share` mean, at the bottom
};

std::string to_svg(const PanelGrid& grid);
// panel,caption,row,column,value
std::string to_csv(const PanelGrid& grid);

}  // namespace glint
