#include "glint/spectra/masks.h"

#include <algorithm>
#include <cmath>

#include "glint/base/finite.h"
#include "glint/base/rng.h"

namespace glint {
namespace {

constexpr uint32_t kRandomMask = 0x6d61736bu, kShuffledMask = 0x6d61736cu;  // sub-streams

}  // namespace

std::vector<float> mask_of_length(std::span<const double> picture, double length) {
  double squares = 0;
  for (const double e : picture) squares += e * e;
  if (!std::isfinite(squares)) throw_overflow("the gradient that a mask is made from");
  std::vector<float> mask(picture.size());
  if (squares > 0)
    for (size_t i = 0; i < mask.size(); i++)
      mask[i] = static_cast<float>(picture[i] * (length / std::sqrt(squares)));
  return mask;
}

std::vector<float> eigen_mask(std::span<const double> values, const Features& features,
                              std::span<const double> mean_input, size_t terms, double length, int push) {
  assert(values.size() == features.maps.rows() && mean_input.size() == features.maps.cols());
  assert(push == 1 || push == -1);
  const size_t n = values.size();
  std::vector<double> gradient(mean_input.size());
  for (size_t t = 0; t < std::min(terms, n); t++) {
    // Descending values: supporters are at the front, opponents at the back.
    const size_t k = push > 0 ? t : n - 1 - t;
    if (push * values[k] <= 0) break;
    const std::span<const double> f = features.maps.view().row(k);
    double projection = features.offsets[k];
    for (size_t i = 0; i < f.size(); i++) projection += f[i] * mean_input[i];
    for (size_t i = 0; i < f.size(); i++) gradient[i] += push * values[k] * projection * f[i];
  }
  return mask_of_length(gradient, length);
}

std::vector<float> random_mask(size_t size, double length, uint64_t seed) {
  const Rng rng(seed, Stream::sample, kRandomMask);
  std::vector<double> v(size);
  for (size_t i = 0; i < size; i++) v[i] = rng.normal(i);
  return mask_of_length(v, length);
}

std::vector<float> shuffled_mask(std::span<const float> mask, uint64_t seed) {
  const std::vector<uint32_t> order =
      Rng(seed, Stream::sample, kShuffledMask).permutation(static_cast<uint32_t>(mask.size()));
  std::vector<float> out(mask.size());
  for (size_t i = 0; i < mask.size(); i++) out[i] = mask[order[i]];
  return out;
}

void add_mask(ConstMatrixView<float> images, std::span<const float> mask, float strength, float low,
              float high, MatrixView<float> out) {
  assert(mask.size() == images.cols() && out.rows() == images.rows() && out.cols() == images.cols());
  for (size_t r = 0; r < images.rows(); r++)
    for (size_t i = 0; i < images.cols(); i++)
      out(r, i) = std::clamp(images(r, i) + strength * mask[i], low, high);
}

std::vector<double> mean_of_rows(ConstMatrixView<float> images) {
  std::vector<double> mean(images.cols());
  for (size_t r = 0; r < images.rows(); r++)
    for (size_t i = 0; i < images.cols(); i++) mean[i] += static_cast<double>(images(r, i));
  for (double& m : mean) m /= static_cast<double>(std::max<size_t>(images.rows(), 1));
  return mean;
}

}  // namespace glint
