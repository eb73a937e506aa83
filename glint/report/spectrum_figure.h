// The eigenvalues of one unit, sorted, with its strongest eigenvectors drawn beside them; and the accuracy
// that is left when each unit keeps only its first eigenvectors.
#pragma once

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
Chart truncation_figure(const std::string& title, const std::vector<TruncationSeries>& forms,
                        double model_accuracy);

}  // namespace glint
