#include <algorithm>
#include <numeric>

#include "glint/base/rng.h"
#include "glint/base/statistics.h"
#include "glint/model/classifier.h"
#include "glint/train/optimizer.h"
#include "glint/train/timing.h"

namespace glint {
namespace {

// The matrix products of a step on buffers of their own: every layer forward, its input gradient, its weight
// gradient.
class BareProducts {
 public:
  BareProducts(const Compute& compute, const ClassifierConfig& c, size_t batch) : compute_(compute) {
    const auto add = [&](size_t n, size_t k, bool input_gradient) {
      Arena arena(Arena::bytes_for_padded(batch, k) + Arena::bytes_for_padded(batch, n));
      const MatrixView<float> x = arena.padded(batch, k), y = arena.padded(batch, n);
      layers_.push_back({Matrix<float>(n, k), Matrix<float>(n, k), std::move(arena), x, y,
                         PackedWeights(compute.products, n, k, input_gradient), input_gradient});
      std::fill_n(layers_.back().w.data(), n * k, 0.01f);
      std::fill_n(x.data(), batch * x.stride(), 0.5f);
      layers_.back().packed.pack_all(compute, layers_.back().w);
    };
    add(c.d_model, c.inputs, false);
    for (size_t i = 0; i < c.layers; i++) add(2 * c.hidden(), i == 0 ? c.d_model : c.hidden(), true);
    add(c.classes, c.hidden(), true);
  }
  void operator()() {
    const size_t batch = layers_[0].x.rows();
    compute_.pool.for_tiles(chunk_count(batch), [&](size_t chunk, size_t worker) {
      const Range r = chunk_range(batch, chunk);
      for (Layer& l : layers_)
        linear_forward(compute_.products, l.x.row_range(r.first, r.count), l.packed, l.y.row_range(r.first, r.count),
                       compute_.scratch[worker]);
      for (Layer& l : layers_)
        if (l.input_gradient)
          linear_backward(compute_.products, l.y.row_range(r.first, r.count), l.packed, l.x.row_range(r.first, r.count),
                          false, compute_.scratch[worker]);
    });
    for (Layer& l : layers_)
      compute_.pool.for_tiles(weight_gradient_tiles(compute_.products, l.w.rows()), [&](size_t tile, size_t worker) {
        weight_gradient_tile(compute_.products, l.y, l.x, l.dw, tile, compute_.scratch[worker]);
      });
  }

 private:
  struct Layer {
    Matrix<float> w, dw;
    Arena arena;
    MatrixView<float> x, y;
    PackedWeights packed;
    bool input_gradient;
  };
  const Compute& compute_;
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<StepModel> paper_step_models() {
  return {{"4.1", 1, 2048, 256}, {"4.1", 1, 2048, 512}, {"4.2", 2, 512, 256}};
}

StepTiming time_step(const Compute& compute, const StepModel& model, const Gate& gate, size_t repeats,
                     const TimingProgress& progress) {
  ClassifierConfig config;
  config.layers = model.layers;
  config.d_model = model.width;
  config.gate = gate;
  const size_t batch = model.batch;
  ClassifierEngine engine(config, compute, batch, true);
  const ParamTable& table = engine.params().table;
  Adamw optimizer(table, {.weight_decay = 0.1});
  Matrix<float> params(1, table.floats()), gradients(1, table.floats());
  table.initialise(params.span(), 0);
  engine.set_weights(params.span());

  // A training set of random pixels: as large as MNIST's, because a step takes its rows from all over memory.
  constexpr size_t kImages = 60000;
  const Rng rng(0, Stream::test);
  Matrix<uint8_t> pixels(kImages, config.inputs);
  std::vector<uint32_t> labels(batch);
  for (size_t i = 0; i < pixels.size(); i += 4) {
    const uint32_t bits = rng.bits(i / 4);
    for (size_t j = 0; j < 4; j++) pixels.data()[i + j] = static_cast<uint8_t>(bits >> (8 * j));
  }
  for (size_t i = 0; i < batch; i++) labels[i] = static_cast<uint32_t>(rng.below(config.classes, i));
  const std::vector<uint32_t> order = rng.permutation(kImages);
  uint32_t step = 0;
  const ClassifierEngine::RowSource source = [&](size_t row, float* out) {
    const uint32_t sample = order[(step * batch + row) % kImages];
    const bool noisy = Rng(0, Stream::noise_choice, step).uniform(sample) < 0.5;
    compute.kernels().noisy_pixels({0, step, sample}, noisy ? 1.0f : 0.0f, config.inputs, pixels.view().row_ptr(sample),
                                   out);
  };
  BareProducts products(compute, config, batch);
  const auto one_step = [&] {
    step++;
    engine.forward_backward(batch, source, labels, gradients.span());
    optimizer.step(compute, step, 1e-3, gradients.span(), params.span());
    engine.set_weights(params.span());
  };
  for (int i = 0; i < 2; i++) one_step(), products();
  std::vector<double> steps, bare;
  for (size_t r = 0; r < repeats; r++) {
    steps.push_back(milliseconds_of(one_step));
    bare.push_back(milliseconds_of(std::ref(products)));
    if (progress) progress(r + 1, repeats);
  }
  StepTiming t;
  static_cast<TimeSpread&>(t) = time_spread(steps);
  t.model = model;
  t.products_ms = quantile(bare, 0.5);
  return t;
}

}  // namespace glint
