#include "glint/spectra/usual_inputs.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

namespace glint {

double nearest_mean(const Matrix<float>& means, std::span<const float> x) {
  double nearest = std::numeric_limits<double>::infinity();
  for (size_t c = 0; c < means.rows(); c++) {
    const std::span<const float> mean = means.view().row(c);
    double squares = 0;
    for (size_t j = 0; j < x.size(); j++) {
      const double off = static_cast<double>(x[j]) - static_cast<double>(mean[j]);
      squares += off * off;
    }
    nearest = std::min(nearest, squares);
  }
  return std::sqrt(nearest);
}

UsualInputs usual_inputs(ConstMatrixView<float> train, std::span<const uint32_t> labels, size_t classes,
                         ConstMatrixView<float> test) {
  assert(train.rows() == labels.size() && train.rows() > 0 && test.rows() > 0 && train.cols() == test.cols());
  Matrix<double> sums(classes, train.cols());
  std::vector<size_t> counts(classes);
  for (size_t i = 0; i < train.rows(); i++) {
    counts[labels[i]]++;
    for (size_t j = 0; j < train.cols(); j++) sums(labels[i], j) += static_cast<double>(train(i, j));
  }
  UsualInputs out;
  out.means = Matrix<float>(classes - static_cast<size_t>(std::ranges::count(counts, 0u)), train.cols());
  for (size_t c = 0, row = 0; c < classes; c++) {
    if (counts[c] == 0) continue;
    for (size_t j = 0; j < train.cols(); j++)
      out.means(row, j) = static_cast<float>(sums(c, j) / static_cast<double>(counts[c]));
    row++;
  }
  std::vector<double> distances;
  for (size_t i = 0; i < test.rows(); i++) distances.push_back(nearest_mean(out.means, test.row(i)));
  std::ranges::sort(distances);
  const double rank = std::ceil(kUsualShare * static_cast<double>(distances.size()));
  out.limit = distances[static_cast<size_t>(rank) - 1];
  return out;
}

}  // namespace glint
