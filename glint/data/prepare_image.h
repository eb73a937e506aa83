// Brings any gray picture to the form of a data set's images: bright on dark, and as large and as centred as
// those are. What MNIST did to its digits, with the numbers taken from the images themselves.
#pragma once

#include <string>

#include "glint/data/dataset.h"

namespace glint {

// How the images of a set lie in their frame.
struct ImageStyle {
  size_t height = 28, width = 28;
  double longer_side = 20;  // of the box around the ink: the median
  bool by_mass = true;      // centred by the centre of mass, else by that box
};
// From at most 1,000 images, evenly spaced.
ImageStyle measure_style(const ImageSet& images);

struct PreparedImage {
  Matrix<uint8_t> pixels;  // [height, width]
  std::string done;        // what was done, in words
};
// Error (bad_file) for a picture without anything on it; `where` names it.
PreparedImage prepare_image(const Matrix<uint8_t>& gray, const ImageStyle& style, const std::string& where);

// Area averaging: a target pixel is the mean of the part of the picture that it covers.
Matrix<uint8_t> resized(const Matrix<uint8_t>& gray, size_t height, size_t width);

}  // namespace glint
