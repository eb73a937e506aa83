#include "glint/spectra/forms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "glint/spectra/calibration.h"
#include "glint/spectra/lanczos.h"
#include "glint/spectra/row_tiles.h"
#include "glint/spectra/scaled.h"

namespace glint {
namespace {

// Hidden activations from l and r, then the outputs of a tile.
Matrix<double> outputs(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                       std::span<const float> constants, const auto& activate) {
  assert(weights.cols() == reader.layer.hidden() && x.cols() == reader.layer.inputs());
  assert(constants.empty() || constants.size() == weights.rows());
  Matrix<double> out(x.rows(), weights.rows());
  std::vector<TileMemory> memory(reader.pool.size());
  std::vector<Matrix<double>> hidden(reader.pool.size());
  reader.pool.for_tiles(tiles_of(x.rows()), [&](size_t t, size_t worker) {
    const size_t first = t * kTileRows, rows = std::min(kTileRows, x.rows() - first);
    tile_pre_activations(reader.linalg, reader.layer, x.row_range(first, rows), memory[worker]);
    Matrix<double>& y = hidden[worker];
    if (y.rows() != rows) y = Matrix<double>(rows, reader.layer.hidden());
    activate(x.row_range(first, rows), memory[worker], y);
    const MatrixView<double> o = out.view().row_range(first, rows);
    for (size_t i = 0; i < rows && !constants.empty(); i++) std::copy(constants.begin(), constants.end(), o.row_ptr(i));
    reader.linalg.gemm(Op::plain, Op::transposed, 1.0, y, weights, constants.empty() ? 0.0 : 1.0, o);
    if (!all_finite(o)) throw_overflow("the outputs of a layer, or of a form of it");
  });
  return out;
}

std::vector<Spectrum> wanted_spectra(const LayerReader& reader, const Matrix<double>& q, const Matrix<double>& squares,
                                     const Wanted& wanted) {
  const size_t k = wanted.strongest;
  if (k == 0 || reader.layer.width() <= kFullWidth || k > reader.layer.width() / 8)
    return interaction_spectra(reader, q, squares, wanted.gap);
  std::vector<Spectrum> out;
  for (size_t u = 0; u < q.rows(); u++)
    out.push_back(top_interaction(
        reader, ProductWeights(q.view().row(u), squares.size() ? squares.view().row(u) : std::span<const double>()), k,
        {.gap = wanted.gap}));
  return out;
}

// q times one list of the terms, for every unit; empty where there is none.
Matrix<double> weighted(ConstMatrixView<double> q, const std::vector<double>& term) {
  if (term.empty()) return {};
  Matrix<double> out(q.rows(), q.cols());
  for (size_t u = 0; u < q.rows(); u++)
    for (size_t j = 0; j < q.cols(); j++) out(u, j) = q(u, j) * term[j];
  return out;
}

// Adds sum_j s_j (row j of the half, and its bias) to the linear part of a form.
void add_half(const WeightRows& half, std::span<const float> bias, std::span<const double> s,
              std::vector<double>& linear) {
  const size_t d = half.cols();
  Matrix<double> row(1, d);
  Matrix<float> buffer;
  for (size_t j = 0; j < s.size(); j++) {
    if (s[j] == 0) continue;
    half.widen(j, row, buffer);
    for (size_t i = 0; i < d; i++) linear[i] += s[j] * row(0, i);
    if (!bias.empty()) linear[d] += s[j] * static_cast<double>(bias[j]);
  }
}

constexpr FormFunctions kweights = {.fit = [](const FormData& d) { return weights_form(d.reader.layer); }};
constexpr FormFunctions kscaled = {.fit = [](const FormData& d) { return scaled_form(d.reader, d.outputs, d.x); },
                                   .has = has_scaled_form,
                                   .check = check_scaled_form};
constexpr FormFunctions kcalibrated = {.fit = [](const FormData& d) { return best_line(d.reader, d.outputs, d.x); }};
constexpr FormFunctions klocal = {};

constexpr FormFunctions kFunctions[] = {
#define GLINT_FORM_FUNCTIONS(name, ...) k##name,
    GLINT_FORMS(GLINT_FORM_FUNCTIONS)
#undef GLINT_FORM_FUNCTIONS
};

}  // namespace

double input_size(std::span<const float> x) {
  double squares = 0;
  for (const float e : x) squares += static_cast<double>(e) * static_cast<double>(e);
  return std::sqrt(squares);
}

double input_size(std::span<const double> x) {
  double squares = 0;
  for (const double e : x) squares += e * e;
  return std::sqrt(squares);
}

GateTerms at_size(const GateTerms& line, double s) {
  GateTerms plain = line;
  plain.slope.clear(), plain.power = 1, plain.size = 0;
  for (size_t h = 0; h < line.slope.size(); h++) {
    const double shrunk = gate_code::shrink(line.slope[h] * s, line.power);
    plain.gain[h] /= shrunk;
    if (!plain.square.empty()) plain.square[h] /= shrunk;
  }
  return plain;
}

bool has_linear_part(const GateTerms& terms) {
  const auto any = [](const std::vector<double>& v) { return std::ranges::any_of(v, [](double e) { return e != 0; }); };
  return any(terms.shift) || any(terms.left);
}

GateTerms without_linear_part(GateTerms terms) {
  terms.shift.clear(), terms.left.clear();
  return terms;
}

QuadraticPart quadratic_part(std::span<const double> q, const GateTerms& any_size) {
  const GateTerms terms = at_size(any_size, any_size.size);
  QuadraticPart out{.products = terms.gain, .squares = terms.square};
  for (size_t h = 0; h < out.products.size(); h++) out.products[h] *= q[h];
  for (size_t h = 0; h < out.squares.size(); h++) out.squares[h] *= q[h];
  return out;
}

GateTerms weights_form(const GluLayerView& layer) {
  // Where gate(l) - gate(-l) = l, half of l is the gate's odd part, and with it the form the layer's even
  // part.
  const bool half = gate_info(layer.gate.kind).text.parity == Parity::half_linear;
  return {.gain = std::vector<double>(layer.hidden(), half ? 0.5 : 1.0)};
}

GateTerms local_form(const GluLayerView& layer, std::span<const double> x) {
  const GateInfo& gate = gate_info(layer.gate.kind);
  GateTerms line{std::vector<double>(layer.hidden()), std::vector<double>(layer.hidden())};
  for (size_t h = 0; h < layer.hidden(); h++) {
    const double l = pre_activation(layer, h, x).l, g = gate.value(l, layer.gate.params);
    if (std::fabs(g) <= kLocalGain * std::fabs(l)) {
      line.gain[h] = l == 0 ? 0 : g / l;
    } else {
      line.gain[h] = l == 0 ? 0 : std::copysign(kLocalGain, g * l);
      line.shift[h] = g - line.gain[h] * l;
    }
  }
  return line;
}

std::vector<UnitForm> unit_forms(const LayerReader& reader, const GateTerms& any_size, ConstMatrixView<double> weights,
                                 std::span<const float> constants, const Wanted& wanted) {
  const GateTerms terms = at_size(any_size, any_size.size);
  for ([[maybe_unused]] const TermList& list : kTermLists)
    assert((terms.*list.values).empty() || (terms.*list.values).size() == weights.cols());
  assert(weights.cols() == reader.layer.hidden() && !terms.gain.empty());
  std::vector<Spectrum> spectra =
      wanted_spectra(reader, weighted(weights, terms.gain), weighted(weights, terms.square), wanted);
  const Matrix<double> of_left = weighted(weights, terms.left), of_right = weighted(weights, terms.shift),
                       of_one = weighted(weights, terms.constant);
  std::vector<UnitForm> forms(weights.rows());
  for (size_t u = 0; u < forms.size(); u++) {
    UnitForm& f = forms[u];
    f.spectrum = std::move(spectra[u]);
    if (wanted.strongest) f = strongest_terms(std::move(f), wanted.strongest);
    if (!constants.empty()) f.constant = constants[u];
    if (of_one.size() > 0)
      for (const double c : of_one.view().row(u)) f.constant += c;
    if (of_left.size() == 0 && of_right.size() == 0) continue;
    f.linear.assign(reader.layer.width(), 0.0);
    if (of_left.size() > 0) add_half(reader.layer.left, reader.layer.bias_left, of_left.view().row(u), f.linear);
    if (of_right.size() > 0) add_half(reader.layer.right, reader.layer.bias_right, of_right.view().row(u), f.linear);
    if (!all_finite(f.linear)) throw_overflow("the linear part of a form");
  }
  return forms;
}

double mean_alike(std::span<const UnitForm> a, std::span<const UnitForm> b) {
  assert(a.size() == b.size());
  double sum = 0;
  size_t count = 0;
  for (size_t u = 0; u < a.size(); u++) {
    const BothEnds x = both_ends(a[u].spectrum.values, 1), y = both_ends(b[u].spectrum.values, 1);
    for (const auto side : {&BothEnds::positive, &BothEnds::negative}) {
      if ((x.*side).empty() || (y.*side).empty()) continue;
      const std::span<const double> v = a[u].spectrum.vectors.view().row((x.*side)[0]),
                                    w = b[u].spectrum.vectors.view().row((y.*side)[0]);
      sum += std::fabs(std::inner_product(v.begin(), v.end(), w.begin(), 0.0));
      count++;
    }
  }
  return count ? sum / static_cast<double>(count) : 1;
}

UnitForm strongest_terms(UnitForm form, size_t k) {
  const Spectrum& s = form.spectrum;
  if (k >= s.count()) return form;
  std::vector<uint32_t> order = order_by_magnitude(s.values);
  order.resize(k);
  std::sort(order.begin(), order.end());
  Spectrum kept{.values = {}, .vectors = Matrix<double>(k, s.width()), .groups = {}};
  for (size_t i = 0; i < k; i++) {
    kept.values.push_back(s.values[order[i]]);
    kept.groups.push_back(s.groups[order[i]]);
    std::ranges::copy(s.vectors.view().row(order[i]), kept.vectors.view().row_ptr(i));
  }
  form.spectrum = std::move(kept);
  return form;
}

std::vector<double> contributions(const Spectrum& spectrum, std::span<const double> x) {
  assert(spectrum.width() == x.size() || spectrum.width() == x.size() + 1);
  std::vector<double> out(spectrum.count());
  for (size_t k = 0; k < out.size(); k++) {
    const double* v = spectrum.vectors.view().row_ptr(k);
    double p = spectrum.width() > x.size() ? v[x.size()] : 0.0;
    for (size_t i = 0; i < x.size(); i++) p += v[i] * x[i];
    out[k] = spectrum.values[k] * p * p;
  }
  if (!all_finite(out)) throw_overflow("the contributions of eigenvectors");
  return out;
}

double form_value(const UnitForm& form, std::span<const double> x) {
  double value = form.constant;
  for (size_t i = 0; i < form.linear.size(); i++) value += form.linear[i] * (i < x.size() ? x[i] : 1.0);
  for (double c : contributions(form.spectrum, x)) value += c;
  return value;
}

Matrix<double> layer_outputs(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                             std::span<const float> constants) {
  const auto activate = [&](ConstMatrixView<float>, const TileMemory& tile, Matrix<double>& y) {
    with_gate(reader.layer.gate, [&](auto gate) {
      for (size_t i = 0; i < y.size(); i++)
        y.data()[i] = static_cast<double>(gate(tile.l.data()[i])) * static_cast<double>(tile.r.data()[i]);
    });
  };
  return outputs(reader, weights, x, constants, activate);
}

Matrix<double> form_outputs(const LayerReader& reader, const GateTerms& line, ConstMatrixView<double> weights,
                            ConstMatrixView<float> x, std::span<const float> constants) {
  const auto activate = [&](ConstMatrixView<float> inputs, const TileMemory& tile, Matrix<double>& y) {
    for (size_t i = 0; i < y.rows(); i++) {
      const GateTerms own = line.slope.empty() ? GateTerms() : at_size(line, input_size(inputs.row(i)));
      const GateTerms& t = line.slope.empty() ? line : own;
      for (size_t j = 0; j < y.cols(); j++) {
        const double l = tile.l(i, j), r = tile.r(i, j);
        y(i, j) = (t.gain[j] * l + (t.shift.empty() ? 0 : t.shift[j])) * r;
        if (!t.square.empty()) y(i, j) += t.square[j] * l * l;
        if (!t.left.empty()) y(i, j) += t.left[j] * l;
        if (!t.constant.empty()) y(i, j) += t.constant[j];
      }
    }
  };
  return outputs(reader, weights, x, constants, activate);
}

const FormFunctions& form_functions(Form form) { return kFunctions[static_cast<size_t>(form)]; }

}  // namespace glint
