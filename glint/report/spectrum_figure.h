// The eigenvalues of one unit, sorted, with its strongest eigenvectors drawn beside them; and the accuracy
// that is left when each unit keeps only its first eigenvectors.
#pragma once

#include "glint/base/matrix.h"
#include "glint/report/chart.h"
#include "glint/report/signed_picture.h"

namespace glint {

struct SpectrumPlot {
  std::string title;
  std::string note = {};         // a line below
  std::vector<double> values;    // descending
  std::vector<uint32_t> groups;  // equal for near-equal neighbours, whose vectors are not single directions
  PictureSize size;
  std::vector<SignedPicture> positive, negative;  // strongest first
  std::vector<double> linear = {};                // the picture of the linear part; empty: it has none
  std::string linear_note = {};                   // below it
};
// The CSV has one line per eigenvalue: rank, eigenvalue, group, and how many share the group.
Figure spectrum_figure(const SpectrumPlot& plot);

// accuracy[k]: with k eigenvectors, from k = 0, which is what the form has without any: its constant, and
// with `linear` the linear part of a calibrated form. `median`: the eigenvectors are those of the median size
// of the input, though the form has others for other sizes.
struct TruncationSeries {
  std::string name;
  std::vector<double> accuracy;
  bool linear = false, median = false;
};
Chart truncation_figure(const std::string& title, const std::vector<TruncationSeries>& forms, double model_accuracy);

// Directions that matter to several units: pictures on top, and below each how strongly it speaks for (red)
// or against (blue) every unit.

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

// Eigenvectors as pictures in a grid: one row per unit, its strongest with positive eigenvalues on the left
// (they speak for it), with negative ones on the right (they speak against it), and at the end the linear
// part, which belongs to none of them.

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
