#include "glint/spectra/calibration.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "glint/base/error.h"
#include "glint/io/safetensors.h"
#include "glint/io/seal.h"
#include "glint/spectra/tiles.h"

namespace glint {
namespace {

constexpr std::string_view kNames[] = {"gain", "affine", "joint"};
constexpr const char* kFormat = "glint-calibration";

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

// Normal equations of the joint fit in the changes of gains and shifts, F = [l r | r] and e what the lines
// leave of the gate's product: gram = F' F, slope = sum over rows of F * (e W' W).
struct NormalEquations {
  Matrix<double> gram;
  std::vector<double> slope;
  explicit NormalEquations(size_t h) : gram(2 * h, 2 * h), slope(2 * h) {}
};

// Rows go to a fixed number of sums, which are then added up in order.
constexpr size_t kSums = 8;

NormalEquations normal_equations(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                                 const GateLine& line, ConstMatrixView<double> weights,
                                 ConstMatrixView<float> x) {
  const size_t h = layer.hidden(), tiles = tiles_of(x.rows()), sums = std::min(kSums, tiles);
  std::vector<NormalEquations> parts(sums, NormalEquations(h));
  std::vector<TileMemory> memory(sums);
  // Tile t goes to sum t % sums. A loop of the pool per round of tiles, so that it can be stopped between
  // them.
  for (size_t round = 0; round < tiles; round += sums)
    pool.for_tiles(std::min(sums, tiles - round), [&](size_t s, size_t) {
      const size_t first = (round + s) * kTileRows, rows = std::min(kTileRows, x.rows() - first);
      NormalEquations& part = parts[s];
      TileMemory& tile = memory[s];
      tile_pre_activations(linalg, layer, x.row_range(first, rows), tile);
      Matrix<double> f(rows, 2 * h), e(rows, h), out(rows, weights.rows());
      with_gate(layer.gate, [&](auto gate) {
        for (size_t i = 0; i < rows; i++)
          for (size_t j = 0; j < h; j++) {
            const double l = tile.l(i, j), r = tile.r(i, j);
            f(i, j) = l * r, f(i, h + j) = r;
            e(i, j) = (static_cast<double>(gate(tile.l(i, j))) - (line.gain[j] * l + line.shift[j])) * r;
          }
      });
      linalg.gemm(Op::plain, Op::transposed, 1.0, e, weights, 0.0, out);
      linalg.gemm(Op::plain, Op::plain, 1.0, out, weights, 0.0, e);
      for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < 2 * h; j++) part.slope[j] += f(i, j) * e(i, j % h);
      linalg.gemm(Op::transposed, Op::plain, 1.0, f, f, 1.0, part.gram);
    });
  for (size_t s = 1; s < sums; s++) {
    for (size_t i = 0; i < parts[0].gram.size(); i++) parts[0].gram.data()[i] += parts[s].gram.data()[i];
    for (size_t j = 0; j < 2 * h; j++) parts[0].slope[j] += parts[s].slope[j];
  }
  return std::move(parts[0]);
}

}  // namespace

std::string_view name(Calibration calibration) { return kNames[static_cast<size_t>(calibration)]; }

GateLine calibrated_form(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                         ConstMatrixView<float> x, Calibration calibration) {
  const size_t h = layer.hidden(), tiles = tiles_of(x.rows());
  std::vector<TileMemory> memory(pool.size());
  Matrix<Moments> sums(tiles, h);  // a row a tile, added up in order below
  pool.for_tiles(tiles, [&](size_t t, size_t worker) {
    const size_t first = t * kTileRows, rows = std::min(kTileRows, x.rows() - first);
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

GateLine joint_form(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                    ConstMatrixView<double> weights, ConstMatrixView<float> x) {
  // Of the diagonal. Agreement hardly changes from 1e-5 to 1e-2; without it dead units make the system
  // singular.
  constexpr double kRidge = 1e-3;
  const size_t h = layer.hidden();
  GateLine line = calibrated_form(linalg, pool, layer, x, Calibration::affine);
  if (x.rows() == 0) return line;
  const NormalEquations n = normal_equations(linalg, pool, layer, line, weights, x);
  Matrix<double> between(h, h);  // W' W: how far two units add up in the same outputs
  linalg.gemm(Op::transposed, Op::plain, 1.0, weights, weights, 0.0, between);
  Eigen::MatrixXd a(2 * h, 2 * h);
  for (size_t i = 0; i < 2 * h; i++)
    for (size_t j = 0; j < 2 * h; j++)
      a(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = n.gram(i, j) * between(i % h, j % h);
  for (Eigen::Index i = 0; i < a.rows(); i++) a(i, i) = a(i, i) > 0 ? a(i, i) * (1 + kRidge) : 1;
  const Eigen::VectorXd change =
      a.llt().solve(Eigen::Map<const Eigen::VectorXd>(n.slope.data(), static_cast<Eigen::Index>(2 * h)));
  if (!change.allFinite()) return line;  // a system beyond doubles: the lines of the units stand
  for (size_t j = 0; j < h; j++) {
    line.gain[j] += change(static_cast<Eigen::Index>(j));
    line.shift[j] += change(static_cast<Eigen::Index>(h + j));
  }
  return line;
}

void save_calibration(FileSystem& files, const std::string& path, const StoredCalibration& c) {
  std::vector<TensorToWrite> tensors;
  std::map<std::string, std::string> metadata = {
      {"format", kFormat}, {"model", c.model}, {"data", c.data}, {"inputs", std::to_string(c.inputs)}};
  if (!c.linalg.empty()) metadata["linalg"] = c.linalg;
  for (size_t i = 0; i < c.lines.size(); i++) {
    const std::string layer = "blocks." + std::to_string(i);
    const auto add = [&](const char* what, const std::vector<double>& v) {
      tensors.push_back({layer + "." + what, Dtype::f64, {v.size()}, std::as_bytes(std::span(v))});
    };
    add("gain", c.lines[i].gain);
    if (!c.lines[i].shift.empty()) add("shift", c.lines[i].shift);
    metadata[layer] = name(c.kinds[i]);
  }
  write_sealed_safetensors(files, path, tensors, metadata);
}

StoredCalibration load_calibration(const std::string& path, std::span<const size_t> hidden) {
  const SafetensorsFile file(path);
  const auto refuse = [&](const std::string& what, const std::string& expected) {
    throw Error({.code = ErrorCode::bad_file,
                 .what = what,
                 .where = path,
                 .expected = expected,
                 .hint = "remove the file: it is made anew"});
  };
  const auto text = [&](const std::string& key) {
    const std::string* value = file->find_metadata(key);
    if (!value) refuse("the calibration does not say its " + key, "metadata as glint writes them");
    return *value;
  };
  const Seal seal = seal_of(file);
  if (seal == Seal::broken)
    refuse("the calibration is damaged: it is not what its checksum says", "the file as glint wrote it");
  if (text("format") != kFormat) refuse("not a calibration", std::string("format ") + kFormat);
  StoredCalibration c{.model = text("model"), .data = text("data"), .lines = {}, .kinds = {}};
  c.sealed = seal == Seal::good;
  if (const std::string* linalg = file->find_metadata("linalg")) c.linalg = *linalg;
  const std::string inputs = text("inputs");
  if (inputs.empty() || inputs.size() > 18 || inputs.find_first_not_of("0123456789") != std::string::npos)
    refuse("the number of inputs is \"" + inputs + "\"", "a whole number");
  c.inputs = std::stoull(inputs);
  for (size_t i = 0; i < hidden.size(); i++) {
    const std::string layer = "blocks." + std::to_string(i), kind = text(layer);
    const auto* found = std::find(std::begin(kNames), std::end(kNames), kind);
    if (found == std::end(kNames)) refuse("unknown calibration \"" + kind + "\"", "gain, affine or joint");
    c.kinds.push_back(static_cast<Calibration>(found - kNames));
    const auto numbers = [&](const char* what) {
      const size_t shape[] = {hidden[i]};
      const TensorInfo& t = file->at(layer + "." + what, shape, Dtype::f64);
      std::vector<double> v(hidden[i]);
      std::memcpy(v.data(), t.bytes.data(), t.bytes.size());
      for (const double x : v)
        if (!std::isfinite(x))
          refuse(layer + "." + what + " holds a value that is not finite", "finite numbers");
      return v;
    };
    GateLine line{numbers("gain"), {}};
    if (c.kinds.back() != Calibration::gain) line.shift = numbers("shift");
    c.lines.push_back(std::move(line));
  }
  return c;
}

}  // namespace glint
