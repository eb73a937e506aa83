// A number over two options: a cell per pair of values, its number in it, darker where it is better. Several
// maps side by side make one figure, as SVG and as CSV with the same numbers.
#pragma once

#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/report/signed_picture.h"

namespace glint {

struct HeatMap {
  std::string title;      // what the numbers are: "test loss", "agreement %"
  Matrix<double> values;  // [rows, columns]; NaN: there is none
  int decimals = 3;
  bool lower_is_better = false;
};

struct HeatMaps {
  std::string title;
  std::string note = {};  // a line below
  std::string row_option, column_option;
  std::vector<std::string> rows, columns;  // their values
  std::vector<HeatMap> maps;
};

Figure heat_maps(const HeatMaps& figure);

}  // namespace glint
