// Whether the pictures of eigenvectors look like the classes that they speak for.
#pragma once

#include "glint/base/matrix.h"
#include "glint/data/dataset.h"

namespace glint {

// The mean image of every class minus the mean of all images, [classes, pixels], in 0 ... 1.
Matrix<double> class_deviations(const ImageSet& images);

struct ClassLikeness {
  double matched = 0;  // share of the pictures that are most like the deviation of their own class
  double cosine = 0;   // |cos| with that, mean over classes
  size_t twins = 0;    // pairs of pictures with |cos| >= kTwin
};
// One picture per class [classes, pixels]; signs are free. A picture of zeros is like nothing.
ClassLikeness class_likeness(ConstMatrixView<double> pictures, ConstMatrixView<double> deviations);

}  // namespace glint
