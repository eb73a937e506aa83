#include "glint/paper/class_match.h"

#include <cassert>
#include <cmath>

#include "glint/paper/measured.h"

namespace glint {
namespace {

double alike(std::span<const double> a, std::span<const double> b) {
  double product = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); i++) product += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return aa > 0 && bb > 0 ? std::fabs(product) / std::sqrt(aa * bb) : 0;
}

}  // namespace

Matrix<double> class_deviations(const ImageSet& images) {
  const size_t pixels = images.inputs();
  Matrix<double> mean(images.classes, pixels);
  std::vector<double> all(pixels), count(images.classes);
  for (size_t i = 0; i < images.count(); i++) {
    double* row = mean.view().row_ptr(images.labels[i]);
    for (size_t p = 0; p < pixels; p++) {
      const double v = images.floats() ? static_cast<double>(images.values.view().row(i)[p])
                                       : images.pixels.view().row(i)[p] / 255.0;
      row[p] += v, all[p] += v;
    }
    count[images.labels[i]]++;
  }
  for (size_t c = 0; c < images.classes; c++)
    for (size_t p = 0; p < pixels; p++) {
      double& v = mean.view().row_ptr(c)[p];
      v = count[c] > 0 ? v / count[c] - all[p] / static_cast<double>(images.count()) : 0;
    }
  return mean;
}

ClassLikeness class_likeness(ConstMatrixView<double> pictures, ConstMatrixView<double> deviations) {
  assert(pictures.rows() == deviations.rows() && pictures.cols() == deviations.cols());
  ClassLikeness result;
  const size_t n = pictures.rows();
  for (size_t c = 0; c < n; c++) {
    const double own = alike(pictures.row(c), deviations.row(c));
    bool best = own > 0;
    for (size_t o = 0; o < n; o++) best = best && (o == c || alike(pictures.row(c), deviations.row(o)) < own);
    result.matched += best / static_cast<double>(n);
    result.cosine += own / static_cast<double>(n);
    for (size_t o = 0; o < c; o++) result.twins += alike(pictures.row(c), pictures.row(o)) >= kTwin;
  }
  return result;
}

}  // namespace glint
