#include "glint/spectra/readability.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

#include "glint/base/statistics.h"
#include "glint/spectra/compare.h"
#include "glint/spectra/measures.h"

namespace glint {
namespace {

constexpr size_t kAbove = 2, kBelow = 1;

// v . (x, 1), or v . x for a vector without an entry for the 1.
double along(std::span<const double> v, std::span<const float> x) {
  double sum = v.size() > x.size() ? v[x.size()] : 0;
  for (size_t i = 0; i < x.size(); i++) sum += v[i] * static_cast<double>(x[i]);
  return sum;
}

}  // namespace

std::vector<uint32_t> leading_vectors(std::span<const double> values) {
  std::vector<uint32_t> out = both_ends(values, kAbove).positive;
  for (const uint32_t k : both_ends(values, kBelow).negative) out.push_back(k);
  return out;
}

Spectrum leading_spectrum(const Spectrum& s) {
  const std::vector<uint32_t> rows = leading_vectors(s.values);
  Spectrum out{.values = {}, .vectors = Matrix<double>(rows.size(), s.width()), .groups = {}};
  for (size_t i = 0; i < rows.size(); i++) {
    out.values.push_back(s.values[rows[i]]);
    out.groups.push_back(s.groups[rows[i]]);
    std::ranges::copy(s.vectors.view().row(rows[i]), out.vectors.view().row_ptr(i));
  }
  return out;
}

double distinct_pictures(const LinearAlgebra& linalg, ConstMatrixView<double> pictures) {
  // Cosines and not products of scaled pictures: similarity() scales without overflow.
  std::vector<size_t> rows;
  for (size_t r = 0; r < pictures.rows(); r++)
    if (std::ranges::any_of(pictures.row(r), [](double v) { return v != 0; })) rows.push_back(r);
  if (rows.empty()) return 0;
  Matrix<double> kept(rows.size(), pictures.cols());
  for (size_t i = 0; i < rows.size(); i++) std::ranges::copy(pictures.row(rows[i]), kept.view().row_ptr(i));
  const Spectrum gram = eigh(linalg, cosines(linalg, kept, kept));
  std::vector<double> shares;
  for (const double v : gram.values) shares.push_back(std::max(v, 0.0));  // below 0 by rounding alone
  return spectrum_rank(shares).entropy;
}

std::vector<double> strongest_pair_scores(const Spectrum& s, ConstMatrixView<float> x) {
  const BothEnds ends = both_ends(s.values, 1);
  std::vector<double> scores(x.rows());
  for (const std::vector<uint32_t>* side : {&ends.positive, &ends.negative})
    for (const uint32_t k : *side)
      for (size_t r = 0; r < x.rows(); r++) {
        const double p = along(s.vectors.view().row(k), x.row(r));
        scores[r] += s.values[k] * p * p;
      }
  return scores;
}

double area_under_curve(std::span<const double> scores, std::span<const uint8_t> in_group) {
  assert(scores.size() == in_group.size());
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return scores[i]; });
  double ranks = 0, inside = 0;  // ranks from 1 on; equal scores share their mean rank
  for (size_t first = 0; first < order.size();) {
    size_t end = first, own = 0;
    while (end < order.size() && scores[order[end]] == scores[order[first]]) own += in_group[order[end++]] != 0;
    ranks += static_cast<double>(own) * static_cast<double>(first + 1 + end) / 2;
    inside += static_cast<double>(own);
    first = end;
  }
  const double outside = static_cast<double>(scores.size()) - inside;
  if (inside == 0 || outside == 0) return std::numeric_limits<double>::quiet_NaN();
  return (ranks - inside * (inside + 1) / 2) / (inside * outside);
}

double likeness(const LinearAlgebra& linalg, const LeadingVectors& a, const LeadingVectors& b) {
  const UnitComparison c = compare_units(linalg, {a.values, a.vectors}, {b.values, b.vectors}, kAbove);
  std::vector<double> all = c.positive.best_matched;
  all.insert(all.end(), c.negative.best_matched.begin(), c.negative.best_matched.end());
  return all.empty() ? std::numeric_limits<double>::quiet_NaN() : mean_and_sd(all).mean;
}

}  // namespace glint
