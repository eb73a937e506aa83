#include "glint/spectra/forms.h"

#include <algorithm>
#include <cmath>

namespace glint {
namespace {

constexpr size_t kRows = 256;  // rows a tile: fixed, so that sums do not depend on the number of threads

size_t tiles_of(size_t rows) { return (rows + kRows - 1) / kRows; }

// Calls body(g) with g(float l) -> float, the gate as the model's kernels compute it.
template <class G, class Body>
void with_gate_kind(const GateParams& params, Body& body) {
  if constexpr (requires { G::with(params, [](auto) {}); })
    G::with(params, [&](auto gate) { body([gate](float l) { return gate(l).value; }); });
  else
    body([](float l) { return G{}(l).value; });
}

template <class Body>
void with_gate(const Gate& gate, Body&& body) {
  switch (gate.kind) {
#define GLINT_GATE_CASE(G) \
  case GateKind::G:        \
    return with_gate_kind<G>(gate.params, body);
    GLINT_GATES(GLINT_GATE_CASE)
#undef GLINT_GATE_CASE
    case GateKind::count:
      break;
  }
}

// l and r of a tile of inputs, [rows, h] each.
struct TileMemory {
  Matrix<float> l, r;
};

void tile_pre_activations(const LinearAlgebra& linalg, const GluLayerView& layer, ConstMatrixView<float> x,
                          TileMemory& tile) {
  const size_t h = layer.hidden();
  if (tile.l.rows() != x.rows() || tile.l.cols() != h)
    tile.l = Matrix<float>(x.rows(), h), tile.r = Matrix<float>(x.rows(), h);
  const auto half = [&](ConstMatrixView<float> weight, std::span<const float> bias, Matrix<float>& out) {
    for (size_t i = 0; i < x.rows() && !bias.empty(); i++)
      std::copy(bias.begin(), bias.end(), out.view().row_ptr(i));
    linalg.gemm(Op::plain, Op::transposed, 1.0f, x, weight, bias.empty() ? 0.0f : 1.0f, out);
  };
  half(layer.left, layer.bias_left, tile.l);
  half(layer.right, layer.bias_right, tile.r);
}

// Sums over rows that decide the line of one hidden unit: r^2 times 1, l, l^2, gate, gate l.
struct Moments {
  double one = 0, l = 0, ll = 0, g = 0, gl = 0;
};

struct Line {
  double gain = 1, shift = 0;
};

Line fit(const Moments& m, Calibration calibration) {
  constexpr double kSpread = 1e-10;  // variance of l over its mean square below which a slope means nothing
  Line line;
  if (m.ll > 0) line.gain = m.gl / m.ll;
  if (calibration == Calibration::gain) return line;
  const double det = m.one * m.ll - m.l * m.l;
  if (!(det > kSpread * m.one * m.ll)) return line;
  // The same expressions as det when the gate is the identity: gain 1 and shift 0 to the last bit.
  line.gain = (m.one * m.gl - m.l * m.g) / det;
  line.shift = (m.ll * m.g - m.l * m.gl) / det;
  return line;
}

// Hidden activations from l and r, then the outputs of a tile.
template <class Activate>
Matrix<double> outputs(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                       ConstMatrixView<double> weights, ConstMatrixView<float> x,
                       std::span<const float> constants, const Activate& activate) {
  assert(weights.cols() == layer.hidden() && x.cols() == layer.inputs());
  assert(constants.empty() || constants.size() == weights.rows());
  Matrix<double> out(x.rows(), weights.rows());
  std::vector<TileMemory> memory(pool.size());
  std::vector<Matrix<double>> hidden(pool.size());
  pool.for_tiles(tiles_of(x.rows()), [&](size_t t, size_t worker) {
    const size_t first = t * kRows, rows = std::min(kRows, x.rows() - first);
    tile_pre_activations(linalg, layer, x.row_range(first, rows), memory[worker]);
    Matrix<double>& y = hidden[worker];
    if (y.rows() != rows) y = Matrix<double>(rows, layer.hidden());
    activate(memory[worker], y);
    const MatrixView<double> o = out.view().row_range(first, rows);
    for (size_t i = 0; i < rows && !constants.empty(); i++)
      std::copy(constants.begin(), constants.end(), o.row_ptr(i));
    linalg.gemm(Op::plain, Op::transposed, 1.0, y, weights, constants.empty() ? 0.0 : 1.0, o);
  });
  return out;
}

}  // namespace

GateLine weights_form(const GluLayerView& layer) { return {std::vector<double>(layer.hidden(), 1.0), {}}; }

GateLine calibrated_form(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                         ConstMatrixView<float> x, Calibration calibration) {
  const size_t h = layer.hidden(), tiles = tiles_of(x.rows());
  std::vector<TileMemory> memory(pool.size());
  Matrix<Moments> sums(tiles, h);  // a row a tile, added up in order below
  pool.for_tiles(tiles, [&](size_t t, size_t worker) {
    const size_t first = t * kRows, rows = std::min(kRows, x.rows() - first);
    TileMemory& tile = memory[worker];
    tile_pre_activations(linalg, layer, x.row_range(first, rows), tile);
    Moments* row = sums.view().row_ptr(t);
    with_gate(layer.gate, [&](auto gate) {
      for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < h; j++) {
          const double l = tile.l(i, j), r = tile.r(i, j), rr = r * r, g = gate(tile.l(i, j));
          Moments& m = row[j];
          m.one += rr;
          m.l += rr * l;
          m.ll += rr * l * l;
          m.g += rr * g;
          m.gl += rr * l * g;
        }
    });
  });
  GateLine line{std::vector<double>(h), {}};
  if (calibration == Calibration::affine) line.shift.resize(h);
  for (size_t j = 0; j < h; j++) {
    Moments m;
    for (size_t t = 0; t < tiles; t++) {
      const Moments& part = sums(t, j);
      m.one += part.one, m.l += part.l, m.ll += part.ll, m.g += part.g, m.gl += part.gl;
    }
    if (!std::isfinite(m.one + m.l + m.ll + m.g + m.gl))
      throw Error({.code = ErrorCode::numeric,
                   .what = "the calibration of hidden unit " + std::to_string(j) + " is not finite",
                   .expected = "finite weights and inputs"});
    const Line fitted = fit(m, calibration);
    line.gain[j] = fitted.gain;
    if (calibration == Calibration::affine) line.shift[j] = fitted.shift;
  }
  return line;
}

GateLine local_form(const GluLayerView& layer, std::span<const double> x) {
  const GateInfo& gate = gate_info(layer.gate.kind);
  GateLine line{std::vector<double>(layer.hidden()), std::vector<double>(layer.hidden())};
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

std::vector<UnitForm> unit_forms(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                                 const GateLine& line, ConstMatrixView<double> weights,
                                 std::span<const float> constants, double gap) {
  const size_t h = layer.hidden(), d = layer.inputs();
  assert(weights.cols() == h && line.gain.size() == h && (line.shift.empty() || line.shift.size() == h));
  Matrix<double> q(weights.rows(), h);
  for (size_t u = 0; u < q.rows(); u++)
    for (size_t j = 0; j < h; j++) q(u, j) = weights(u, j) * line.gain[j];
  std::vector<Spectrum> spectra = interaction_spectra(linalg, pool, layer, q, gap);
  std::vector<UnitForm> forms(weights.rows());
  for (size_t u = 0; u < forms.size(); u++) {
    UnitForm& f = forms[u];
    f.spectrum = std::move(spectra[u]);
    if (!constants.empty()) f.constant = constants[u];
    if (line.shift.empty()) continue;
    f.linear.assign(layer.width(), 0.0);
    for (size_t j = 0; j < h; j++) {
      const double s = weights(u, j) * line.shift[j];
      if (s == 0) continue;
      const float* r = layer.right.row_ptr(j);
      for (size_t i = 0; i < d; i++) f.linear[i] += s * static_cast<double>(r[i]);
      if (!layer.bias_right.empty()) f.linear[d] += s * static_cast<double>(layer.bias_right[j]);
    }
  }
  return forms;
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
  return out;
}

double form_value(const UnitForm& form, std::span<const double> x) {
  double value = form.constant;
  for (size_t i = 0; i < form.linear.size(); i++) value += form.linear[i] * (i < x.size() ? x[i] : 1.0);
  for (double c : contributions(form.spectrum, x)) value += c;
  return value;
}

Matrix<double> layer_outputs(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                             ConstMatrixView<double> weights, ConstMatrixView<float> x,
                             std::span<const float> constants) {
  return outputs(linalg, pool, layer, weights, x, constants, [&](const TileMemory& tile, Matrix<double>& y) {
    with_gate(layer.gate, [&](auto gate) {
      for (size_t i = 0; i < y.size(); i++)
        y.data()[i] = static_cast<double>(gate(tile.l.data()[i])) * static_cast<double>(tile.r.data()[i]);
    });
  });
}

Matrix<double> form_outputs(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                            const GateLine& line, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                            std::span<const float> constants) {
  return outputs(linalg, pool, layer, weights, x, constants, [&](const TileMemory& tile, Matrix<double>& y) {
    for (size_t i = 0; i < y.rows(); i++)
      for (size_t j = 0; j < y.cols(); j++) {
        const double shift = line.shift.empty() ? 0 : line.shift[j];
        y(i, j) =
            (line.gain[j] * static_cast<double>(tile.l(i, j)) + shift) * static_cast<double>(tile.r(i, j));
      }
  });
}

}  // namespace glint
