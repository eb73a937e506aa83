#include <algorithm>
#include <cmath>

#include "glint/base/arena.h"
#include "glint/base/rng.h"
#include "glint/nn/glu.h"
#include "glint/train/timing.h"

namespace glint {
namespace {

void fill(MatrixView<float> m, double scale, uint32_t sub) {
  const Rng rng(1, Stream::test, sub);
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) m(i, j) = static_cast<float>(scale * (2 * rng.uniform(i * m.cols() + j) - 1));
}

// One layer with everything a step touches.
class Layer {
 public:
  Layer(const Compute& compute, TimingShape s)
      : compute_(compute),
        w_(2 * s.d_out, s.d_in),
        dw_(2 * s.d_out, s.d_in),
        arena_(2 * Arena::bytes_for_padded(s.batch, s.d_in) + Arena::bytes_for_padded(s.batch, 2 * s.d_out) +
               4 * Arena::bytes_for_padded(s.batch, s.d_out)),
        x_(arena_.padded(s.batch, s.d_in)),
        z_(arena_.padded(s.batch, 2 * s.d_out)),
        y_(arena_.padded(s.batch, s.d_out)),
        dy_(arena_.padded(s.batch, s.d_out)),
        dx_(arena_.padded(s.batch, s.d_in)),
        value_(arena_.padded(s.batch, s.d_out)),
        slope_(arena_.padded(s.batch, s.d_out)),
        packed_(compute.products, 2 * s.d_out, s.d_in) {
    fill(w_, 1 / std::sqrt(static_cast<double>(s.d_in)), 0);
    fill(x_, std::sqrt(3.0), 1);
    fill(dy_, 1e-3, 2);
    packed_.pack_all(compute_, w_);
  }

  // A step as in training: the weights have changed and are packed again.
  void step(const Gate& gate) {
    packed_.pack_all(compute_, w_);
    glu_layer_forward(compute_, gate, packed_, x_, z_, y_);
    glu_layer_backward(compute_, gate, packed_, x_, z_, dy_, dx_, dw_);
  }

  // The three products of a step and nothing else, on weights that are packed already.
  void products() {
    rows([&](Range r, size_t worker) {
      linear_forward(compute_.products, x_.row_range(r.first, r.count), packed_, z_.row_range(r.first, r.count),
                     compute_.scratch[worker]);
    });
    rows([&](Range r, size_t worker) {
      linear_backward(compute_.products, z_.row_range(r.first, r.count), packed_, dx_.row_range(r.first, r.count),
                      false, compute_.scratch[worker]);
    });
    weight_gradient();
  }

  // The gate as a framework without fusion runs it: each operation one pass over memory.
  void unfused(const Gate& gate) {
    packed_.pack_all(compute_, w_);
    const auto apply = compute_.kernels().gate_apply[static_cast<int>(gate.kind)];
    const size_t h = y_.cols();
    rows([&](Range r, size_t worker) {
      linear_forward(compute_.products, x_.row_range(r.first, r.count), packed_, z_.row_range(r.first, r.count),
                     compute_.scratch[worker]);
    });
    each_row([&](size_t i) { apply(gate.params, h, z_.row_ptr(i), value_.row_ptr(i), nullptr); });
    each_row([&](size_t i) { product(h, value_.row_ptr(i), z_.row_ptr(i) + h, y_.row_ptr(i)); });
    each_row([&](size_t i) { apply(gate.params, h, z_.row_ptr(i), nullptr, slope_.row_ptr(i)); });
    each_row([&](size_t i) { product(h, slope_.row_ptr(i), dy_.row_ptr(i), slope_.row_ptr(i)); });
    each_row([&](size_t i) { product(h, slope_.row_ptr(i), z_.row_ptr(i) + h, z_.row_ptr(i)); });
    each_row([&](size_t i) { product(h, value_.row_ptr(i), dy_.row_ptr(i), z_.row_ptr(i) + h); });
    rows([&](Range r, size_t worker) {
      linear_backward(compute_.products, z_.row_range(r.first, r.count), packed_, dx_.row_range(r.first, r.count),
                      false, compute_.scratch[worker]);
    });
    weight_gradient();
  }

 private:
  static void product(size_t n, const float* a, const float* b, float* out) {
    for (size_t i = 0; i < n; i++) out[i] = a[i] * b[i];
  }
  template <class Body>
  void rows(const Body& body) {
    compute_.pool.for_tiles(chunk_count(x_.rows()),
                            [&](size_t chunk, size_t worker) { body(chunk_range(x_.rows(), chunk), worker); });
  }
  template <class Body>
  void each_row(const Body& body) {
    rows([&](Range r, size_t) {
      for (size_t i = r.first; i < r.first + r.count; i++) body(i);
    });
  }
  void weight_gradient() {
    compute_.pool.for_tiles(weight_gradient_tiles(compute_.products, dw_.rows()), [&](size_t tile, size_t worker) {
      weight_gradient_tile(compute_.products, z_, x_, dw_, tile, compute_.scratch[worker]);
    });
  }

  const Compute& compute_;
  Matrix<float> w_, dw_;
  Arena arena_;
  MatrixView<float> x_, z_, y_, dy_, dx_, value_, slope_;
  PackedWeights packed_;
};

}  // namespace

std::vector<TimingShape> paper_timing_shapes() {
  std::vector<TimingShape> shapes;
  for (size_t batch : {256, 512, 1024, 2048})
    for (size_t width : {256, 512, 1024, 2048}) shapes.push_back({batch, width, width});
  return shapes;
}

std::vector<GateTiming> time_gates(const Compute& compute, const GateTimingOptions& options,
                                   const std::function<void(size_t, size_t, const TimingShape&)>& progress) {
  std::vector<GateTiming> result;
  const size_t variants = 1 + options.gates.size() * (options.unfused ? 2 : 1);
  size_t done = 0;
  for (size_t s = 0; s < options.shapes.size(); s++) {
    Layer layer(compute, options.shapes[s]);
    GateTiming blank;
    blank.shape = options.shapes[s];
    std::vector<GateTiming> rows(variants, blank);
    rows[0].products = true;
    for (size_t v = 1; v < variants; v++) {
      rows[v].gate = options.gates[(v - 1) % options.gates.size()];
      rows[v].fused = v <= options.gates.size();
    }
    const auto run = [&](const GateTiming& row) {
      return milliseconds_of([&] {
        if (row.products)
          layer.products();
        else if (row.fused)
          layer.step(row.gate);
        else
          layer.unfused(row.gate);
      });
    };
    double warm = 0;
    for (int i = 0; i < 2; i++) warm = run(rows[0]);
    const size_t repeats =
        options.repeats ? options.repeats : std::clamp<size_t>(static_cast<size_t>(2000 / std::max(warm, 1e-3)), 5, 40);
    std::vector<std::vector<double>> times(variants);
    for (size_t r = 0; r < repeats; r++) {
      for (size_t v = 0; v < variants; v++) {
        const size_t turn = (v + r) % variants;  // nobody is always first
        times[turn].push_back(run(rows[turn]));
        done++;
        if (progress)
          progress(done, done + (repeats - r) * variants - v - 1 + (options.shapes.size() - s - 1) * repeats * variants,
                   options.shapes[s]);
      }
    }
    for (size_t v = 0; v < variants; v++) {
      static_cast<TimeSpread&>(rows[v]) = time_spread(times[v]);
      result.push_back(rows[v]);
    }
  }
  return result;
}

}  // namespace glint
