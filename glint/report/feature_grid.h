// Eigenvectors as pictures in a grid: one row per unit, its strongest with positive eigenvalues on the left
// (they speak for it), with negative ones on the right (they speak against it), and at the end the linear
// part, which belongs to none of them.
#pragma once

#include "glint/report/signed_picture.h"

namespace glint {

struct FeatureRow {
  std::string name;
  std::string note = {};                          // small, below the name
  std::vector<SignedPicture> positive, negative;  // strongest first
  std::vector<double> linear = {};                // the picture of the linear part; empty: it has none
  std::string linear_note = {};                   // below it
};

struct FeatureGrid {
  std::string title;
  std::string note = {};  // a line below
  PictureSize size;
  std::vector<FeatureRow> rows;
};

// The CSV has one line per picture: unit, sign (positive, negative, linear), rank, eigenvalue and the pixels.
Figure feature_grid(const FeatureGrid& grid);

}  // namespace glint
