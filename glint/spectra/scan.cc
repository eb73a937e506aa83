#include "glint/spectra/scan.h"

#include <algorithm>
#include <mutex>

#include "glint/base/finite.h"

namespace glint {
namespace {

// `values` in ascending order.
ScannedDirection scanned(size_t index, std::span<const double> values) {
  return {.index = index,
          .rank = spectrum_rank(values),
          .top = values.back(),
          .bottom = values.front(),
          .energy = energy_curve(values).front(),
          .strongest = order_by_magnitude(values).front(),
          .fit = {}};
}

// All eigenvalues of the matrices of a layer, one at a time on each thread.
class WholeSpectra {
 public:
  WholeSpectra(const GluModel& model, const GluLayerView& view, const GateTerms& line)
      : model_(model), builder_(model.linalg(), view), terms_(line), workers_(model.pool().size()) {}

  ScannedDirection one(const ScanPlan& plan, size_t index, std::span<const double> weights, size_t worker) {
    Worker& w = workers_[worker];
    if (w.q.rows() == 0) w.q = Matrix<double>(builder_.width(), builder_.width()), w.values.resize(builder_.width());
    builder_.build(quadratic_part(weights, terms_), w.q, w.scratch);
    if (!all_finite(w.q)) throw_overflow("the interaction matrix of direction " + std::to_string(index));
    model_.linalg().eigh_in_place(w.q, w.values, w.workspace);
    ScannedDirection out = scanned(index, w.values);
    if (plan.fit) out.fit = plan.fit(index, w.values, w.q);
    return out;
  }

 private:
  struct Worker {
    Matrix<double> q, scratch;
    std::vector<double> values;
    EighWorkspace workspace;
  };
  const GluModel& model_;
  const InteractionBuilder builder_;
  const GateTerms terms_;
  std::vector<Worker> workers_;
};

}  // namespace

ScanPlan scan_plan(const GluModel& model, size_t layer, size_t count, std::function<Matrix<double>(Range)> directions) {
  ScanPlan plan{.layer = layer, .count = count, .directions = std::move(directions)};
  if (model.layer(layer).width() > kFullWidth) plan.strongest = kScanPairs, plan.block = kWideBlock;
  return plan;
}

std::vector<ScannedDirection> scan_directions(const GluModel& model, const GateTerms& line, const ScanPlan& plan,
                                              Range some, const std::function<void(size_t)>& progress) {
  const GluLayerView view = model.layer(plan.layer);
  std::vector<ScannedDirection> out(some.count);
  std::unique_ptr<WholeSpectra> whole;
  if (plan.strongest == 0) whole = std::make_unique<WholeSpectra>(model, view, line);
  std::mutex mutex;
  size_t done = 0;
  const auto tell = [&] {
    if (!progress) return;
    const std::lock_guard lock(mutex);
    progress(++done);
  };
  const size_t end = some.first + some.count;
  for (size_t begin = some.first / plan.block * plan.block; begin < end; begin += plan.block) {
    const Matrix<double> weights =
        hidden_weights(model.linalg(), plan.directions({begin, std::min(plan.block, plan.count - begin)}),
                       model.projection(plan.layer));
    const size_t first = std::max(begin, some.first), last = std::min(begin + plan.block, end);
    if (whole) {
      model.pool().for_tiles(last - first, [&](size_t tile, size_t worker) {
        const size_t i = first + tile;
        out[i - some.first] = whole->one(plan, i, weights.view().row(i - begin), worker);
        tell();
      });
      continue;
    }
    for (size_t i = first; i < last; i++) {  // a wide layer: all threads work on one direction
      const std::vector<UnitForm> form =
          unit_forms({model.linalg(), model.pool(), view}, line, weights.view().row_range(i - begin, 1), {},
                     {.strongest = plan.strongest});
      std::vector<double> values = form[0].spectrum.values;
      std::ranges::sort(values);
      out[i - some.first] = scanned(i, values);
      const Spectrum& pairs = form[0].spectrum;
      if (plan.fit) out[i - some.first].fit = plan.fit(i, pairs.values, pairs.vectors);
      tell();
    }
  }
  return out;
}

}  // namespace glint
