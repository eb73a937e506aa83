#include "glint/spectra/measures.h"

#include <algorithm>
#include <cmath>

#include "glint/base/finite.h"

namespace glint {
namespace {

struct Sums {
  double yy = 0, ff = 0, yf = 0, ee = 0;            // deviations from the means; ee the error itself
  double plain_yy = 0, plain_ff = 0, plain_yf = 0;  // of the values themselves
  void operator+=(const Sums& o) {
    yy += o.yy, ff += o.ff, yf += o.yf, ee += o.ee;
    plain_yy += o.plain_yy, plain_ff += o.plain_ff, plain_yf += o.plain_yf;
  }
  double correlation() const {
    return yy > 0 && ff > 0 ? std::clamp(yf / (std::sqrt(yy) * std::sqrt(ff)), -1.0, 1.0) : 0;
  }
  double r2() const { return r2_of(ee); }
  // The smallest sum of (y - a f)^2 over all a.
  double r2_scaled() const {
    const double least = plain_ff > 0 ? plain_yy - plain_yf * plain_yf / plain_ff : plain_yy;
    return std::max(r2_of(std::max(least, 0.0)), r2());  // a = 1 is one of them: rounding must not lose it
  }

 private:
  double r2_of(double error) const { return yy > 0 ? 1 - error / yy : error == 0 ? 1 : 0; }
};

// Each row less its mean.
Matrix<double> centred_rows(ConstMatrixView<double> m) {
  Matrix<double> out(m.rows(), m.cols());
  for (size_t i = 0; i < m.rows(); i++) {
    double mean = 0;
    for (const double v : m.row(i)) mean += v / static_cast<double>(m.cols());
    for (size_t u = 0; u < m.cols(); u++) out(i, u) = m(i, u) - mean;
  }
  return out;
}

double mean_of_column(ConstMatrixView<double> m, size_t column) {
  double sum = 0;
  for (size_t i = 0; i < m.rows(); i++) sum += m(i, column);
  return m.rows() ? sum / static_cast<double>(m.rows()) : 0;
}

Sums column_sums(ConstMatrixView<double> model, ConstMatrixView<double> form, size_t u) {
  const double my = mean_of_column(model, u), mf = mean_of_column(form, u);
  Sums s;
  for (size_t i = 0; i < model.rows(); i++) {
    const double y = model(i, u), f = form(i, u), dy = y - my, df = f - mf;
    s += {dy * dy, df * df, dy * df, (y - f) * (y - f), y * y, f * f, y * f};
  }
  return s;
}

double share_equal(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  assert(a.size() == b.size());
  size_t hits = 0;
  for (size_t i = 0; i < a.size(); i++) hits += a[i] == b[i];
  return a.empty() ? 0 : static_cast<double>(hits) / static_cast<double>(a.size());
}

}  // namespace

std::vector<uint32_t> argmax_rows(ConstMatrixView<double> m) {
  std::vector<uint32_t> out(m.rows());
  for (size_t i = 0; i < m.rows(); i++) {
    const std::span<const double> row = m.row(i);
    out[i] = static_cast<uint32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return out;
}

Fidelity fidelity(ConstMatrixView<double> model, ConstMatrixView<double> form, std::span<const uint32_t> labels) {
  assert(model.rows() == form.rows() && model.cols() == form.cols());
  Fidelity out;
  out.inputs = model.rows();
  Sums all, centred;
  const Matrix<double> centred_model = centred_rows(model), centred_form = centred_rows(form);
  for (size_t u = 0; u < model.cols(); u++) {
    const Sums s = column_sums(model, form, u);
    centred += column_sums(centred_model, centred_form, u);
    out.units.push_back({.correlation = s.correlation(), .r2 = s.r2(), .r2_scaled = s.r2_scaled()});
    all += s;
  }
  if (!std::isfinite(all.yy + all.ff + all.yf + all.ee + all.plain_yy + all.plain_ff + all.plain_yf))
    throw_overflow("the comparison of a form with the model");
  out.correlation = all.correlation();
  out.r2 = all.r2(), out.r2_scaled = all.r2_scaled(), out.r2_centred = centred.r2();
  const std::vector<uint32_t> decided = argmax_rows(model), read = argmax_rows(form);
  out.agreement = share_equal(decided, read);
  if (!labels.empty()) {
    out.accuracy_model = share_equal(decided, labels);
    out.accuracy_form = share_equal(read, labels);
  }
  return out;
}

SpectrumRank spectrum_rank(std::span<const double> values) {
  double largest = 0;
  for (double v : values) largest = std::max(largest, std::fabs(v));
  if (largest == 0) return {};
  double s1 = 0, s2 = 0, s4 = 0, entropy = 0;
  for (double v : values) {  // relative to the largest: fourth powers must not overflow
    const double a = std::fabs(v) / largest;
    s1 += a, s2 += a * a, s4 += a * a * a * a;
  }
  for (double v : values)
    if (const double p = std::fabs(v) / largest / s1; p > 0) entropy -= p * std::log(p);
  return {std::exp(entropy), s2 * s2 / s4};
}

std::vector<double> energy_curve(std::span<const double> values) {
  std::vector<double> curve(values.size(), 1.0);
  const std::vector<uint32_t> order = order_by_magnitude(values);
  const double largest = order.empty() ? 0 : std::fabs(values[order[0]]);
  if (largest == 0) return curve;
  double sum = 0;
  for (size_t k = 0; k < order.size(); k++) {
    const double a = values[order[k]] / largest;
    curve[k] = sum += a * a;
  }
  for (double& c : curve) c /= sum;
  return curve;
}

TruncationCurve truncation_curve(const LinearAlgebra& linalg, ThreadPool& pool, std::span<const UnitForm> forms,
                                 const DecidedInputs& inputs) {
  const ConstMatrixView<float> x = inputs.x;
  const ConstMatrixView<double> residual_logits = inputs.residual_logits;
  const std::span<const uint32_t> labels = inputs.labels, decisions = inputs.decisions;
  constexpr size_t kRows = 64;  // the best value and its unit for every k stay in the second-level cache
  TruncationCurve out;
  if (forms.empty() || x.rows() == 0) return out;
  const size_t d = x.cols(), terms = forms[0].spectrum.count(), units = forms.size();
  assert(labels.empty() || labels.size() == x.rows());
  assert(decisions.empty() || decisions.size() == x.rows());

  // Eigenvectors of every unit by |value|, as floats, with the last coordinate of a layer with biases apart.
  struct Unit {
    Matrix<float> vectors;  // [terms, d]
    std::vector<double> values, ones;
  };
  std::vector<Unit> sorted(units);
  for (size_t u = 0; u < units; u++) {
    const Spectrum& s = forms[u].spectrum;
    assert(s.count() == terms && (s.width() == d || s.width() == d + 1));
    sorted[u] = {Matrix<float>(terms, d), std::vector<double>(terms), std::vector<double>(terms)};
    const std::vector<uint32_t> order = order_by_magnitude(s.values);
    for (size_t k = 0; k < terms; k++) {
      const double* v = s.vectors.view().row_ptr(order[k]);
      for (size_t i = 0; i < d; i++) sorted[u].vectors(k, i) = static_cast<float>(v[i]);
      sorted[u].values[k] = s.values[order[k]];
      if (s.width() > d) sorted[u].ones[k] = v[d];
    }
  }

  struct Worker {
    Matrix<float> projections;  // [rows, terms]
    Matrix<double> best;        // [rows, terms + 1]
    Matrix<uint32_t> winner;
    std::vector<uint64_t> right, same;  // [terms + 1], counts: their sum has no order
  };
  std::vector<Worker> workers(pool.size());
  pool.for_tiles((x.rows() + kRows - 1) / kRows, [&](size_t t, size_t id) {
    const size_t first = t * kRows, rows = std::min(kRows, x.rows() - first);
    const ConstMatrixView<float> tile = x.row_range(first, rows);
    Worker& w = workers[id];
    if (w.projections.rows() != rows) {
      w.projections = Matrix<float>(rows, terms);
      w.best = Matrix<double>(rows, terms + 1);
      w.winner = Matrix<uint32_t>(rows, terms + 1);
      w.right.resize(terms + 1), w.same.resize(terms + 1);
    }
    for (size_t u = 0; u < units; u++) {
      linalg.gemm(Op::plain, Op::transposed, 1.0f, tile, sorted[u].vectors, 0.0f, w.projections);
      for (size_t i = 0; i < rows; i++) {
        double sum = forms[u].constant + (residual_logits.empty() ? 0 : residual_logits(first + i, u));
        for (size_t j = 0; j < forms[u].linear.size(); j++)
          sum += forms[u].linear[j] * (j < d ? static_cast<double>(tile(i, j)) : 1.0);
        for (size_t k = 0; k <= terms; k++) {
          if (k > 0) {
            const double p = static_cast<double>(w.projections(i, k - 1)) + sorted[u].ones[k - 1];
            sum += sorted[u].values[k - 1] * p * p;
          }
          if (u == 0 || sum > w.best(i, k)) w.best(i, k) = sum, w.winner(i, k) = static_cast<uint32_t>(u);
        }
        if (!std::isfinite(sum)) throw_overflow("the outputs of a form with some of its eigenvectors");
      }
    }
    for (size_t i = 0; i < rows; i++)
      for (size_t k = 0; k <= terms; k++) {
        if (!labels.empty()) w.right[k] += w.winner(i, k) == labels[first + i];
        if (!decisions.empty()) w.same[k] += w.winner(i, k) == decisions[first + i];
      }
  });
  const auto share = [&](std::vector<uint64_t> Worker::*counts) {
    std::vector<double> curve(terms + 1);
    for (const Worker& w : workers)
      for (size_t k = 0; k < (w.*counts).size(); k++) curve[k] += static_cast<double>((w.*counts)[k]);
    for (double& c : curve) c /= static_cast<double>(x.rows());
    return curve;
  };
  if (!labels.empty()) out.accuracy = share(&Worker::right);
  if (!decisions.empty()) out.agreement = share(&Worker::same);
  return out;
}

SharedDirections shared_directions(const LinearAlgebra& linalg, std::span<const Spectrum> spectra) {
  SharedDirections out;
  if (spectra.empty()) return out;
  const size_t d = spectra[0].width(), units = spectra.size();
  Matrix<double> gram(d, d);
  for (const Spectrum& s : spectra) {
    assert(s.width() == d);
    Matrix<double> scaled = s.vectors;  // Q^2 = (D V)' (D V)
    for (size_t k = 0; k < s.count(); k++)
      for (double& e : scaled.view().row(k)) e *= s.values[k];
    linalg.gemm(Op::transposed, Op::plain, 1.0, scaled, scaled, 1.0, gram);
  }
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < i; j++) gram(i, j) = gram(j, i) = 0.5 * (gram(i, j) + gram(j, i));
  Spectrum g = eigh(linalg, gram);
  out.values = g.values;
  for (double& v : out.values) v = std::sqrt(std::max(v, 0.0));
  out.directions = std::move(g.vectors);
  out.share = Matrix<double>(units, d);
  out.signed_share = Matrix<double>(units, d);
  for (size_t u = 0; u < units; u++) {
    const Spectrum& s = spectra[u];
    Matrix<double> p(d, s.count());  // w_k . v_j
    linalg.gemm(Op::plain, Op::transposed, 1.0, out.directions, s.vectors, 0.0, p);
    for (size_t k = 0; k < d; k++) {
      double squares = 0, sum = 0;
      for (size_t j = 0; j < s.count(); j++) {
        const double a = s.values[j] * p(k, j);
        squares += a * a;
        sum += a * p(k, j);
      }
      out.share(u, k) = std::sqrt(squares);
      out.signed_share(u, k) = sum;
    }
  }
  return out;
}

}  // namespace glint
