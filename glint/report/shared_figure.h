// Directions that matter to several units: pictures on top, and below each how strongly it speaks for (red)
// or against (blue) every unit.
#pragma once

#include "glint/base/matrix.h"
#include "glint/report/signed_picture.h"

namespace glint {

struct SharedPlot {
  std::string title;
  std::string note = {};
  PictureSize size;
  std::vector<std::string> units;
  std::vector<SignedPicture> directions;  // value: the singular value
  Matrix<double> signed_share;            // [units, directions]
};
// The CSV has one line per direction and unit: direction, singular_value, unit, signed_share.
Figure shared_figure(const SharedPlot& plot);

}  // namespace glint
