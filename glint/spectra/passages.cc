#include "glint/spectra/passages.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/spectra/row_tiles.h"

namespace glint {
namespace {

// Which of two passages is to be kept: the first of its stretch before the second of another, then the
// stronger, then the earlier.
auto passage_order(size_t rank, const Passage& p) {
  return std::tuple(rank, -p.strength, p.story, p.first + p.strongest);
}

bool overlaps(const Passage& a, const Passage& b) {
  return a.story == b.story && a.first < b.first + b.tokens.size() && b.first < a.first + a.tokens.size();
}

bool begins_alike(const Passage& a, const Passage& b) {
  return a.strongest == b.strongest &&
         std::equal(a.tokens.begin(), a.tokens.begin() + static_cast<std::ptrdiff_t>(a.strongest) + 1,
                    b.tokens.begin());
}

Matrix<double> stacked(const std::vector<Probe>& probes, const std::vector<size_t>& which,
                       std::vector<double> Probe::*row, size_t cols) {
  Matrix<double> out(which.size(), cols);
  for (size_t i = 0; i < which.size(); i++) {
    const std::vector<double>& from = probes[which[i]].*row;
    check_argument(from.size() == cols, "probes", "vectors as wide as the layer, a weight per hidden unit");
    std::ranges::copy(from, out.view().row_ptr(i));
  }
  return out;
}

}  // namespace

PassageFinder::PassageFinder(const GluModel& model, size_t layer, std::vector<Probe> probes,
                             const PassageOptions& options)
    : model_(model),
      layer_(layer),
      probes_(std::move(probes)),
      options_(options),
      kept_(probes_.size()),
      sums_(probes_.size()) {
  check_argument(options.count > 0, "count", "at least one passage");
  const GluLayerView view = model.layer(layer);
  for (size_t p = 0; p < probes_.size(); p++) (probes_[p].vector.empty() ? weight_at_ : vector_at_).push_back(p);
  vectors_ = stacked(probes_, vector_at_, &Probe::vector, view.width());
  weights_ = stacked(probes_, weight_at_, &Probe::weights, view.hidden());
}

// What every probe shows at every input: [n, probes].
Matrix<double> PassageFinder::values(ConstMatrixView<float> x) const {
  const GluLayerView view = model_.layer(layer_);
  Matrix<double> out(x.rows(), probes_.size());
  if (vectors_.rows() > 0) {
    struct Memory {
      Matrix<double> x, shown;
    };
    std::vector<Memory> memory(model_.pool().size());
    model_.pool().for_tiles(tiles_of(x.rows()), [&](size_t t, size_t worker) {
      const size_t first = t * kTileRows, rows = std::min(kTileRows, x.rows() - first);
      Memory& m = memory[worker];
      if (m.x.rows() != rows) m = {Matrix<double>(rows, view.width()), Matrix<double>(rows, vectors_.rows())};
      for (size_t i = 0; i < rows; i++) {
        std::ranges::copy(x.row(first + i), m.x.view().row_ptr(i));
        if (view.augmented()) m.x(i, view.inputs()) = 1;
      }
      model_.linalg().gemm(Op::plain, Op::transposed, 1.0, m.x, vectors_, 0.0, m.shown);
      for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < vectors_.rows(); k++) out(first + i, vector_at_[k]) = m.shown(i, k);
    });
  }
  if (weights_.rows() > 0) {
    const Matrix<double> shown = layer_outputs({model_.linalg(), model_.pool(), view}, weights_, x);
    for (size_t i = 0; i < x.rows(); i++)
      for (size_t k = 0; k < weights_.rows(); k++) out(i, weight_at_[k]) = shown(i, k);
  }
  if (!all_finite(out)) throw_overflow("what the layer shows on the text");
  return out;
}

double PassageFinder::strength(size_t probe, double shown) const {
  const Probe& p = probes_[probe];
  return p.vector.empty() ? p.sign * shown : std::fabs(p.value) * shown * shown;
}

Passage PassageFinder::cut(size_t probe, const Stretch& s, ConstMatrixView<double> shown, size_t at) const {
  const size_t low = at - std::min(at, options_.before), end = std::min(s.tokens.size(), at + options_.after + 1);
  Passage p{.story = s.story,
            .first = s.first + low,
            .tokens = {s.tokens.begin() + static_cast<std::ptrdiff_t>(low),
                       s.tokens.begin() + static_cast<std::ptrdiff_t>(end)},
            .shown = {},
            .strongest = at - low,
            .strength = strength(probe, shown(at, probe))};
  for (size_t i = low; i < end; i++) p.shown.push_back(shown(i, probe));
  return p;
}

void PassageFinder::take(size_t probe, const Stretch& s, ConstMatrixView<double> shown) {
  std::vector<Kept>& kept = kept_[probe];
  std::vector<double> left(s.tokens.size());  // 0: not to be taken
  for (size_t i = s.from; i < left.size(); i++) left[i] = std::max(0.0, strength(probe, shown(i, probe)));
  for (size_t rank = 0; rank < options_.count;) {
    const size_t at = static_cast<size_t>(std::ranges::max_element(left) - left.begin());
    if (left.empty() || left[at] <= 0) return;
    Passage found = cut(probe, s, shown, at);
    if (kept.size() == options_.count &&
        passage_order(rank, found) > passage_order(kept.back().rank, kept.back().passage))
      return;
    const auto like = std::ranges::find_if(
        kept, [&](const Kept& k) { return overlaps(k.passage, found) || begins_alike(k.passage, found); });
    if (like != kept.end()) {
      if (like->passage.strength >= found.strength) {
        left[at] = 0;
        continue;
      }
      kept.erase(like);
    }
    for (size_t i = 0; i < found.tokens.size(); i++) left[found.first - s.first + i] = 0;
    kept.push_back({rank++, std::move(found)});
    std::ranges::sort(kept, {}, [](const Kept& k) { return passage_order(k.rank, k.passage); });
    if (kept.size() > options_.count) kept.pop_back();
  }
}

void PassageFinder::add(std::span<const Stretch> stretches) {
  std::vector<TokenRow> rows;
  for (const Stretch& s : stretches) rows.push_back({s.tokens, {}});
  const Matrix<double> shown = values(model_.activations(layer_, std::span<const TokenRow>(rows)).inputs);
  size_t first = 0;
  for (const Stretch& s : stretches) {
    const ConstMatrixView<double> own = shown.view().row_range(first, s.tokens.size());
    for (size_t p = 0; p < probes_.size(); p++) {
      for (size_t i = s.from; i < own.rows(); i++) sums_[p] += std::fabs(strength(p, own(i, p)));
      take(p, s, own);
    }
    tokens_ += s.tokens.size() - s.from;
    first += s.tokens.size();
  }
}

std::vector<ProbePassages> PassageFinder::result() const {
  std::vector<ProbePassages> out(probes_.size());
  for (size_t p = 0; p < out.size(); p++) {
    for (const Kept& k : kept_[p]) out[p].passages.push_back(k.passage);
    std::ranges::stable_sort(out[p].passages, std::greater(), &Passage::strength);
    out[p].mean = tokens_ > 0 ? sums_[p] / static_cast<double>(tokens_) : 0;
  }
  return out;
}

}  // namespace glint
