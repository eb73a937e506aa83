#include "glint/spectra/glu_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "glint/base/finite.h"
#include "glint/spectra/bootstrap.h"
#include "glint/spectra/even.h"

namespace glint {
namespace {

Matrix<double> widened(const Matrix<float>& m) {
  Matrix<double> out(m.rows(), m.cols());
  std::copy_n(m.data(), m.size(), out.data());
  return out;
}

// What goes past the layer is part of a decision.
Matrix<double> with_residual(Matrix<double> values, const Directions& d, const Activations& a) {
  if (d.decisions)
    for (size_t i = 0; i < a.residual_logits.size(); i++) values.data()[i] += a.residual_logits.data()[i];
  return values;
}

Matrix<double> outputs_of(const GluModel& model, const Directions& d, const GateTerms& line, const Activations& a) {
  return with_residual(form_outputs(model.reader(d.layer), line, d.weights, a.inputs, d.constants), d, a);
}

// Only decisions are right or wrong.
std::span<const uint32_t> labels_of(const Directions& d, const Activations& a) {
  return d.decisions ? std::span<const uint32_t>(a.labels) : std::span<const uint32_t>();
}

// a - b, entry by entry; an empty b is 0.
Matrix<double> minus(Matrix<double> a, const Matrix<double>& b, double factor = 1) {
  for (size_t i = 0; i < b.size(); i++) a.data()[i] -= factor * b.data()[i];
  return a;
}

// Adds how the form fares at the mirror images, from its values at x and those without its linear part: at -x
// the linear part and what goes past the layer change their signs.
void add_mirror(Fidelity& f, const MirroredModel& mirror, const Matrix<double>& form, const Matrix<double>& squared) {
  const Fidelity there = fidelity(mirror.own, minus(minus(squared, minus(form, squared)), mirror.past, 2));
  f.mirrored = {.r2 = there.r2, .agreement = there.agreement};
  f.even_share = mirror.even.all;
  for (size_t u = 0; u < f.units.size(); u++) f.units[u].even_share = mirror.even.unit[u];
}

// A form against the model's own outputs, with how far R2 would move with other texts.
Fidelity against(const Matrix<double>& own, const Matrix<double>& form, const Activations& a,
                 std::span<const uint32_t> labels = {}) {
  Fidelity f = fidelity(own, form, labels);
  if (a.blocks.empty()) return f;
  const R2Intervals found = bootstrap_r2(own, form, a.blocks);
  f.r2_interval = found.all;
  for (size_t u = 0; u < f.units.size(); u++) f.units[u].r2_interval = found.unit[u];
  return f;
}

// Adds what the eigenvectors are without the rest of the form: `alone` is their own fidelity.
void add_eigenvectors(Trust& t, const Trust& alone) {
  t.eigenvectors_r2 = alone.r2, t.eigenvectors_agreement = alone.agreement;
  t.eigenvectors_r2_interval = alone.r2_interval;
}
void add_eigenvectors(Fidelity& f, const Fidelity& alone) {
  add_eigenvectors(static_cast<Trust&>(f), alone);
  for (size_t u = 0; u < f.units.size(); u++) add_eigenvectors(f.units[u], alone.units[u]);
}

// Adds cov(part, form) / var(form) of all units and of each; a constant form keeps what stands there.
void add_share(Fidelity& f, double Trust::*share, const Matrix<double>& part, const Matrix<double>& form) {
  const size_t n = form.rows();
  double all = 0, all_whole = 0;
  for (size_t u = 0; u < form.cols(); u++) {
    double mean = 0, part_mean = 0, together = 0, whole = 0;
    for (size_t r = 0; r < n; r++) mean += form(r, u), part_mean += part(r, u);
    mean /= static_cast<double>(n), part_mean /= static_cast<double>(n);
    for (size_t r = 0; r < n; r++) {
      const double centred = form(r, u) - mean;
      together += (part(r, u) - part_mean) * centred;
      whole += centred * centred;
    }
    if (whole > 0) f.units[u].*share = together / whole;
    all += together, all_whole += whole;
  }
  if (all_whole > 0) f.*share = all / all_whole;
  if (!std::isfinite(all + all_whole)) throw_overflow("the parts of a form");
}

}  // namespace

void append(Directions& all, const Directions& more) {
  assert(all.count() == 0 || all.layer == more.layer);
  Directions sum{.layer = more.layer,
                 .names = all.names,
                 .weights = Matrix<double>(all.count() + more.count(), more.weights.cols()),
                 .constants = all.constants};
  std::copy_n(all.weights.data(), all.weights.size(), sum.weights.data());
  std::copy_n(more.weights.data(), more.weights.size(), sum.weights.data() + all.weights.size());
  sum.names.insert(sum.names.end(), more.names.begin(), more.names.end());
  if (!all.constants.empty() || !more.constants.empty()) {
    sum.constants.resize(all.count());
    sum.constants.insert(sum.constants.end(), more.constants.begin(), more.constants.end());
    sum.constants.resize(sum.count());
  }
  all = std::move(sum);
}

size_t GluModel::outputs(size_t i) const {
  const WeightRows p = projection(i);
  return p.empty() ? layer(i).hidden() : p.rows();
}

Directions GluModel::directions(size_t i, ConstMatrixView<double> vectors, std::vector<std::string> names) const {
  const size_t width = outputs(i);
  assert((vectors.cols() == width || vectors.cols() == width + 1) && vectors.rows() == names.size());
  Matrix<double> rows(vectors.rows(), width);
  for (size_t u = 0; u < rows.rows(); u++) std::copy_n(vectors.row_ptr(u), width, rows.view().row_ptr(u));
  const WeightRows p = projection(i);
  return {.layer = i,
          .names = std::move(names),
          .weights = p.empty() ? std::move(rows) : hidden_weights(linalg(), rows, p),
          .constants = {}};
}

Directions GluModel::hidden_unit(size_t i, size_t unit) const {
  Directions d{.layer = i,
               .names = {"hidden unit " + std::to_string(unit + 1)},
               .weights = Matrix<double>(1, layer(i).hidden()),
               .constants = {}};
  d.weights(0, unit) = 1;
  return d;
}

std::vector<GateTerms> weights_lines(const GluModel& model) {
  std::vector<GateTerms> lines;
  for (size_t i = 0; i < model.layers(); i++) lines.push_back(weights_form(model.layer(i)));
  return lines;
}

GateTerms fit_form(const GluModel& model, Form form, size_t i, ConstMatrixView<float> x) {
  const FormFunctions& functions = form_functions(form);
  const LayerReader reader = model.reader(i);
  if (functions.check) functions.check(reader.layer);
  assert(functions.fit);
  return functions.fit({reader, model.logit_weights(i), x});
}

bool has_form(const GluModel& model, Form form) {
  const FormFunctions& functions = form_functions(form);
  return !functions.has || functions.has(model.layer(model.last()));
}

Matrix<double> own_outputs(const GluModel& model, const Directions& d, const Activations& a) {
  if (d.decisions) return widened(a.logits);
  return layer_outputs(model.reader(d.layer), d.weights, a.inputs, d.constants);
}

MirroredModel mirrored_model(const GluModel& model, const Directions& d, const Activations& a) {
  const LayerReader reader = model.reader(d.layer);
  MirroredModel out{.even = EvenShare{.all = 1, .unit = std::vector<double>(d.count(), 1.0)},
                    .own = mirrored_outputs(reader, d.weights, a.inputs),
                    .past = d.decisions ? a.residual_logits : Matrix<double>()};
  if (!is_even(reader.layer)) out.even = even_share(layer_outputs(reader, d.weights, a.inputs), out.own);
  for (size_t i = 0; i < out.own.rows(); i++)
    for (size_t u = 0; u < d.constants.size(); u++) out.own(i, u) += d.constants[u];
  out.own = minus(std::move(out.own), out.past);
  return out;
}

Reading read(const GluModel& model, const Directions& d, const GateTerms& line, const Activations& a,
             const Wanted& wanted, const MirroredModel* mirror) {
  return {.units = unit_forms(model.reader(d.layer), line, d.weights, d.constants, wanted),
          .fidelity = form_fidelity(model, d, line, a, mirror)};
}

Fidelity form_fidelity(const GluModel& model, const Directions& d, const GateTerms& line, const Activations& a,
                       const MirroredModel* shared) {
  const Matrix<double> own = own_outputs(model, d, a), form = outputs_of(model, d, line, a);
  const MirroredModel made = shared ? MirroredModel() : mirrored_model(model, d, a);
  const MirroredModel& mirror = shared ? *shared : made;
  Fidelity out = against(own, form, a, labels_of(d, a));
  const bool shifted = has_linear_part(line), passed = mirror.past.size() > 0;
  const Matrix<double> apart = shifted ? outputs_of(model, d, without_linear_part(line), a) : Matrix<double>();
  const Matrix<double>& squared = shifted ? apart : form;
  add_mirror(out, mirror, form, squared);
  if (!shifted && !passed) {
    add_eigenvectors(out, out);
    return out;
  }
  // Neither the linear part nor what goes past the layer belongs to an eigenvector.
  const Matrix<double> alone = minus(squared, mirror.past);
  add_eigenvectors(out, against(own, alone, a));
  if (shifted) add_share(out, &Trust::linear_share, minus(form, squared), form);
  add_share(out, &Trust::quadratic_share, alone, form);
  return out;
}

Fidelity whole_fidelity(const GluModel& model, const Directions& d, const GateTerms& line, const Activations& a) {
  return fidelity(own_outputs(model, d, a), outputs_of(model, d, line, a), labels_of(d, a));
}

Fidelity stand_in_fidelity(const GluModel& model, const Directions& d, Matrix<double> values, const Activations& a) {
  return fidelity(own_outputs(model, d, a), with_residual(std::move(values), d, a), labels_of(d, a));
}

TruncationCurve truncation(const GluModel& model, const Reading& decisions, const Activations& a) {
  const std::vector<uint32_t> decided = argmax_rows(widened(a.logits));
  return truncation_curve(model.linalg(), model.pool(), decisions.units,
                          {a.inputs, a.labels, decided, a.residual_logits});
}

LocalError local_error(const GluModel& model, const Directions& units, const Activations& pass, size_t inputs) {
  const GluLayerView view = model.layer(units.layer);
  const size_t n = std::min(inputs, pass.inputs.rows()), h = view.hidden(), d = view.inputs();
  const ConstMatrixView<float> x = pass.inputs.view().row_range(0, n);
  const Matrix<double> own =
      units.decisions ? Matrix<double>() : layer_outputs(model.reader(units.layer), units.weights, x, units.constants);
  constexpr size_t kBlock = 1024;  // hidden units whose weights are widened at a time
  std::vector<LocalError> errors(n);
  model.pool().for_tiles(n, [&](size_t i, size_t) {
    const std::vector<double> input(x.row(i).begin(), x.row(i).end());
    const GateTerms line = local_form(view, input);
    // x' Q x + w x as half of (q * (R x, 1))' (L x, 1) and half of the reverse, and the shifts.
    Matrix<double> to_left(units.count(), d), to_right(units.count(), d);
    std::vector<double> values(units.count());
    for (size_t first = 0; first < h; first += kBlock) {
      const size_t rows = std::min(kBlock, h - first);
      Matrix<double> by_right(units.count(), rows), by_left(units.count(), rows);
      for (size_t j = first; j < first + rows; j++) {
        const PreActivation p = pre_activation(view, j, input);
        const double bias_l = view.bias_left.empty() ? 0 : view.bias_left[j],
                     bias_r = view.bias_right.empty() ? 0 : view.bias_right[j];
        for (size_t u = 0; u < units.count(); u++) {
          const double q = units.weights(u, j) * line.gain[j] / 2;
          by_right(u, j - first) = q * p.r, by_left(u, j - first) = q * p.l;
          values[u] += q * (p.r * bias_l + p.l * bias_r);
          if (!line.shift.empty()) values[u] += units.weights(u, j) * line.shift[j] * p.r;
        }
      }
      const auto wide = [](const WeightRows& w, Range some) {
        Matrix<double> out(some.count, w.cols());
        Matrix<float> buffer;
        w.widen(some.first, out, buffer);
        return out;
      };
      const double add = first > 0 ? 1.0 : 0.0;
      model.linalg().gemm(Op::plain, Op::plain, 1.0, by_right, wide(view.left, {first, rows}), add, to_left);
      model.linalg().gemm(Op::plain, Op::plain, 1.0, by_left, wide(view.right, {first, rows}), add, to_right);
    }
    for (size_t u = 0; u < units.count(); u++) {
      double& value = values[u];
      value += units.constants.empty() ? 0 : units.constants[u];
      for (size_t j = 0; j < d; j++) value += (to_left(u, j) + to_right(u, j)) * input[j];
      if (units.decisions && !pass.residual_logits.span().empty()) value += pass.residual_logits(i, u);
      if (!std::isfinite(value)) throw_overflow("the local form of input " + std::to_string(i));
      const double truth = units.decisions ? static_cast<double>(pass.logits(i, u)) : own(i, u);
      errors[i].largest = std::max(errors[i].largest, std::fabs(value - truth));
      errors[i].scale = std::max(errors[i].scale, std::fabs(truth));
    }
    if (!units.decisions) return;
    const std::span<const float> logits = pass.logits.view().row(i);
    errors[i].agreement = std::max_element(values.begin(), values.end()) - values.begin() ==
                          std::max_element(logits.begin(), logits.end()) - logits.begin();
  });
  LocalError all{.inputs = n};
  for (const LocalError& e : errors) {
    all.largest = std::max(all.largest, e.largest);
    all.scale = std::max(all.scale, e.scale);
    all.agreement += e.agreement;  // how many, so far
  }
  if (n > 0) all.agreement /= static_cast<double>(n);
  return all;
}

}  // namespace glint
