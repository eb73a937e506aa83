#include "glint/paper/measured.h"

namespace glint {
namespace {

std::vector<double> values(const std::vector<RunCurve>& runs, size_t checkpoint, double CurvePoint::*member) {
  std::vector<double> out;
  for (const RunCurve& r : runs) out.push_back(r.at[checkpoint].*member);
  return out;
}

}  // namespace

std::vector<double> GateRuns::loss(size_t checkpoint) const { return values(runs, checkpoint, &CurvePoint::loss); }

std::vector<double> GateRuns::metric(size_t checkpoint) const { return values(runs, checkpoint, &CurvePoint::metric); }

std::vector<double> GateRuns::train_loss(size_t checkpoint) const {
  return values(runs, checkpoint, &CurvePoint::train_loss);
}

const GateRuns* TaskRuns::find(std::string_view gate) const {
  for (const GateRuns& g : gates)
    if (g.gate == gate) return &g;
  return nullptr;
}

const TaskRuns* Measured::task(std::string_view data, std::string_view norm) const {
  for (const TaskRuns& t : tasks)
    if (t.data == data && t.norm == norm) return &t;
  return nullptr;
}

const ModelPictures* Measured::pictures_of(std::string_view data) const {
  for (const ModelPictures& p : pictures)
    if (p.data == data) return &p;
  return nullptr;
}

PairedDifference paired_at(const TaskRuns& task, std::string_view gate, std::string_view rival, Quantity quantity,
                           size_t checkpoint) {
  std::vector<double> a, b;
  const GateRuns *first = task.find(gate), *second = task.find(rival);
  if (first && second)
    for (const RunCurve& x : first->runs)
      for (const RunCurve& y : second->runs)
        if (x.seed == y.seed) {
          const auto take = [&](const RunCurve& r) {
            return quantity == Quantity::loss ? r.at[checkpoint].loss : r.at[checkpoint].metric;
          };
          a.push_back(take(x));
          b.push_back(take(y));
        }
  return paired_difference(a, b);
}

}  // namespace glint
