// A language model of another program, read and written again and again by one process: what a program or a
// notebook that keeps it open sees. Beside it what the memory allows.
//
//   foreign_bench MODEL TOKENIZER THREADS TOKENS TEXT ISA     one line of JSON: tokens per second, medians of
//   rounds
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "glint/lab/models/language_run.h"

namespace {

using namespace glint;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

// Greedy text of `count` tokens from one token on, whether the model would end it or not.
void write(FamilyPass& pass, TokenId last, size_t count) {
  pass.rewind(0);
  for (size_t n = 0; n < count; n++) {
    const std::span<float> logits = pass.feed({&last, 1});
    last = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  }
}

// Bytes per second when all threads read memory that no cache holds.
double memory_rate(ThreadPool& pool) {
  constexpr size_t kBytes = size_t{512} << 20, kTile = size_t{1} << 20;
  Matrix<float> data(kBytes / kTile, kTile / sizeof(float));
  for (size_t i = 0; i < data.size(); i++) data.data()[i] = 1;
  std::vector<double> sums(data.rows()), times;
  const Kernels& k = kernels(detect_cpu().best);
  for (int i = 0; i < 5; i++)
    times.push_back(seconds([&] {
      pool.for_tiles(data.rows(), [&](size_t t, size_t) { sums[t] = k.sum(data.cols(), data.view().row_ptr(t)); });
    }));
  return static_cast<double>(kBytes) / *std::ranges::min_element(times);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return std::fprintf(stderr, "foreign_bench MODEL TOKENIZER THREADS TOKENS TEXT ISA\n"), 2;
  EngineOptions options;
  options.threads = std::strtoul(argv[3], nullptr, 10);
  options.isa = argv[6];
  const Engine engine(options);
  const size_t tokens = std::strtoul(argv[4], nullptr, 10);
  const auto run = open_language_run(engine, {.run = argv[1], .tokenizer = argv[2]});
  const std::vector<TokenId> prompt = run->tokens_of(argv[5]);
  FamilyPass pass(run->model(), engine.compute(), std::max(prompt.size(), tokens));
  std::vector<double> read, written;
  constexpr int kRounds = 5;
  for (int i = 0; i <= kRounds; i++) {  // the first maps the file and is not counted
    pass.rewind(0);
    const double a = seconds([&] { pass.feed(prompt); });
    const double b = seconds([&] { write(pass, 1, tokens); });
    if (i > 0)
      read.push_back(a / static_cast<double>(prompt.size())), written.push_back(b / static_cast<double>(tokens));
  }
  std::printf(
      "{\"prompt_tokens_per_second\": %.1f, \"tokens_per_second\": %.1f, \"memory_bytes_per_second\": "
      "%.4g}\n",
      1 / median(read), 1 / median(written), memory_rate(engine.pool()));
}
