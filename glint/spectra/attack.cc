#include "glint/spectra/attack.h"

#include <algorithm>
#include <cmath>

#include "glint/base/finite.h"
#include "glint/base/rng.h"
#include "glint/spectra/lanczos.h"

namespace glint {

namespace {

// sum_k values[k] (v_k . (m, 1)) v_k over the chosen rows, without an entry for the bias.
std::vector<double> truncated_gradient(const Spectrum& s, std::span<const uint32_t> rows,
                                       std::span<const double> mean) {
  std::vector<double> g(mean.size());
  for (const uint32_t k : rows) {
    const std::span<const double> v = s.vectors.view().row(k);
    double projection = v.size() > mean.size() ? v[mean.size()] : 0;
    for (size_t i = 0; i < mean.size(); i++) projection += v[i] * mean[i];
    for (size_t i = 0; i < mean.size(); i++) g[i] += s.values[k] * projection * v[i];
  }
  return g;
}

}  // namespace

std::vector<std::vector<double>> layer_means(const ImageReading& reading, ConstMatrixView<uint8_t> pixels,
                                             std::span<const uint32_t> rows) {
  std::vector<std::vector<double>> means;
  for (size_t i = 0; i < reading.layers(); i++) means.push_back(mean_of_rows(reading.run(pixels, i, rows).inputs));
  return means;
}

std::vector<float> class_mask(const ImageReading& reading, std::span<const double> q, std::span<const GateTerms> lines,
                              std::span<const std::vector<double>> means, size_t terms, double length, int push) {
  assert(push == 1 || push == -1);
  const LinearAlgebra& linalg = reading.linalg();
  size_t layer = reading.last();
  Spectrum s = eigh(linalg, interaction(linalg, reading.layer(layer), quadratic_part(q, lines[layer])));
  std::vector<uint32_t> rows;
  for (size_t t = 0; t < std::min(terms, s.count()); t++) {
    const size_t k = push > 0 ? t : s.count() - 1 - t;
    if (push * s.values[k] <= 0) break;
    rows.push_back(static_cast<uint32_t>(k));
  }
  std::vector<double> g = truncated_gradient(s, rows, means[layer]);
  for (double& e : g) e *= push;
  while (layer-- > 0) {
    s = top_interaction({linalg, reading.pool(), reading.layer(layer)}, quadratic_part(g, lines[layer]), terms);
    rows.resize(s.count());
    for (size_t k = 0; k < rows.size(); k++) rows[k] = static_cast<uint32_t>(k);
    std::vector<double> below = truncated_gradient(s, rows, means[layer]);
    if (reading.model().config.residual)
      for (size_t i = 0; i < below.size(); i++) below[i] += g[i];
    g = std::move(below);
  }
  const ConstMatrixView<float> embed = reading.input_map().matrix;
  std::vector<double> picture(embed.cols());
  for (size_t r = 0; r < embed.rows(); r++)
    for (size_t i = 0; i < embed.cols(); i++) picture[i] += g[r] * static_cast<double>(embed(r, i));
  return mask_of_length(picture, length);
}

std::vector<uint32_t> decisions(const ImageReading& reading, ConstMatrixView<uint8_t> pixels,
                                std::span<const uint32_t> rows, std::span<const float> mask, float strength) {
  if (rows.empty()) return {};
  const Activations pass = reading.run(
      rows.size(),
      [&](size_t row, float* out) {
        const std::span<const uint8_t> image = pixels.row(rows[row]);
        for (size_t i = 0; i < image.size(); i++) {
          const float plain = static_cast<float>(image[i]) / 255.0f;
          out[i] = mask.empty() ? plain : std::clamp(plain + strength * mask[i], 0.0f, 1.0f);
        }
      },
      reading.last());
  std::vector<uint32_t> decided(rows.size());
  for (size_t i = 0; i < rows.size(); i++) {
    const std::span<const float> logits = pass.logits.view().row(i);
    decided[i] = static_cast<uint32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  return decided;
}

AttackPoint attack_point(std::span<const uint32_t> labels, std::span<const uint32_t> plain,
                         std::span<const uint32_t> masked, uint32_t unit, AttackGoal goal) {
  assert(labels.size() == plain.size() && plain.size() == masked.size());
  AttackPoint p{.images = labels.size()};
  size_t correct = 0, moved = 0;
  for (size_t i = 0; i < labels.size(); i++) {
    correct += masked[i] == labels[i];
    if ((plain[i] == unit) != (goal == AttackGoal::away)) continue;
    p.eligible++;
    moved += (masked[i] == unit) == (goal == AttackGoal::towards);
  }
  if (p.images) p.accuracy = static_cast<double>(correct) / static_cast<double>(p.images);
  if (p.eligible) p.success = static_cast<double>(moved) / static_cast<double>(p.eligible);
  return p;
}

namespace {

constexpr uint32_t kRandomMask = 0x6d61736bu, kShuffledMask = 0x6d61736cu;  // sub-streams

}  // namespace

std::vector<float> mask_of_length(std::span<const double> picture, double length) {
  double squares = 0;
  for (const double e : picture) squares += e * e;
  if (!std::isfinite(squares)) throw_overflow("the gradient that a mask is made from");
  std::vector<float> mask(picture.size());
  if (squares > 0)
    for (size_t i = 0; i < mask.size(); i++) mask[i] = static_cast<float>(picture[i] * (length / std::sqrt(squares)));
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

void add_mask(ConstMatrixView<float> images, std::span<const float> mask, float strength, float low, float high,
              MatrixView<float> out) {
  assert(mask.size() == images.cols() && out.rows() == images.rows() && out.cols() == images.cols());
  for (size_t r = 0; r < images.rows(); r++)
    for (size_t i = 0; i < images.cols(); i++) out(r, i) = std::clamp(images(r, i) + strength * mask[i], low, high);
}

std::vector<double> mean_of_rows(ConstMatrixView<float> images) {
  std::vector<double> mean(images.cols());
  for (size_t r = 0; r < images.rows(); r++)
    for (size_t i = 0; i < images.cols(); i++) mean[i] += static_cast<double>(images(r, i));
  for (double& m : mean) m /= static_cast<double>(std::max<size_t>(images.rows(), 1));
  return mean;
}

}  // namespace glint
