// Trains a classifier on arrays in memory. The points of one class lie inside a circle, those of the other
// outside.
#include <cstdio>
#include <random>

#include "glint/glint.h"

struct Points {
  glint::Matrix<float> x;
  std::vector<uint32_t> labels;
};

Points points(size_t count, unsigned seed) {
  Points p{glint::Matrix<float>(count, 2), std::vector<uint32_t>(count)};
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (float& v : p.x.span()) v = normal(generator);
  for (size_t i = 0; i < count; i++) p.labels[i] = p.x(i, 0) * p.x(i, 0) + p.x(i, 1) * p.x(i, 1) > 1.4f;
  return p;
}

int main() try {
  const glint::Engine engine;
  const Points train = points(4000, 1), test = points(1000, 2);
  const glint::Dataset data = glint::make_dataset({train.x, train.labels}, {test.x, test.labels});
  glint::TrainOptions options;
  options.d_model = 16;
  options.batch = 100;
  options.noise_prob = 0;
  options.bias = true;  // without it every logit is the same at x and 2 x, but for its scale
  glint::ImageTask task(options, data, engine.compute());
  // Without a directory nothing is written: the weights come back.
  const glint::TrainResult result = glint::train(options, task, engine.compute(), engine.files(), {}, {});
  std::printf("test accuracy %.1f %%, %zu weights\n", 100 * result.last.test_accuracy, result.weights.size());
} catch (const glint::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
