// What training on several ranks takes: a line of JSON at rank 0. bench/bench_mpi.py runs it under mpirun and
// on threads with the delays of a network.
//   ranks_bench WORK [--batch N] [--lanes N] [--repeats N] [--threads N]
//               [--local RANKS [--latency SECONDS] [--bandwidth BYTES_PER_SECOND]]
// WORK: `sum` (a chain over the language model's gradient, and nothing else), `image` (section 4.1's model)
// or `stories` (the paper's language model).
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <thread>

#include "glint/base/rng.h"
#include "glint/io/json.h"
#include "glint/lab/work/engine.h"
#include "glint/train/image_task.h"
#include "glint/train/launcher.h"
#include "glint/train/local_ranks.h"
#include "glint/train/optimizer.h"
#include "glint/train/text_task.h"
#include "glint/train/timing.h"

namespace glint {
namespace {

using BenchClock = std::chrono::steady_clock;

struct BenchSetup {
  std::string work = "sum";
  size_t batch = 0, lanes = 16, repeats = 5, threads = 1, local = 0;
  LinkTimes link;
};

constexpr size_t kGradientFloats = 1507328;  // of the paper's language model
constexpr size_t kPieceFloats = size_t{1} << 15;

Dataset noise_images(size_t count) {
  Dataset d;
  d.name = "noise";
  d.checksum = "noise";
  for (ImageSet* set : {&d.train, &d.test}) {
    set->height = set->width = 28;
    set->classes = 10;
    set->pixels = Matrix<uint8_t>(count, 784);
    const Rng rng(1, Stream::test, set == &d.test);
    for (size_t i = 0; i < set->pixels.size(); i++) set->pixels.data()[i] = static_cast<uint8_t>(rng.below(256, i));
    for (size_t i = 0; i < count; i++) set->labels.push_back(static_cast<uint32_t>(i % 10));
  }
  for (int i = 0; i < 10; i++) d.class_names.push_back(std::to_string(i));
  return d;
}

// About as long as those of TinyStories.
TextData noise_stories(size_t count) {
  TextData data;
  data.name = data.checksum = "noise";
  const Rng rng(1, Stream::test);
  std::vector<std::vector<TokenId>> stories(count);
  for (size_t s = 0; s < count; s++)
    for (size_t i = 0, n = 130 + rng.below(120, s); i < n; i++)
      stories[s].push_back(static_cast<TokenId>(rng.below(4095, 1000000 + 300 * s + i)));
  data.train = data.valid = Corpus::parse(corpus_bytes(stories, 4096, std::string(kNoTokenizer)));
  data.end = 4095;
  return data;
}

// Milliseconds of each repeat; every rank begins one when the others have ended the last.
template <class Step>
std::vector<double> time_steps(Group& group, size_t repeats, const Step& step) {
  std::vector<double> times;
  for (size_t i = 0; i <= repeats; i++) {  // the first one warms up
    group.barrier();
    const auto start = BenchClock::now();
    step(i);
    if (i > 0) times.push_back(1e3 * std::chrono::duration<double>(BenchClock::now() - start).count());
  }
  return times;
}

std::vector<double> time_sum(Group& group, const BenchSetup& setup) {
  std::vector<float> values(kGradientFloats), own(kGradientFloats, 1.0f);
  std::vector<Range> pieces;
  for (size_t first = 0; first < values.size(); first += kPieceFloats)
    pieces.push_back({first, std::min(kPieceFloats, values.size() - first)});
  return time_steps(group, setup.repeats, [&](size_t) {
    group.ordered_sum(pieces, 1, values, [&](Range some) {
      const Range piece = pieces[some.first];
      for (size_t i = piece.first; i < piece.first + piece.count; i++)
        values[i] = group.first() ? own[i] : values[i] + own[i];
    });
  });
}

std::vector<double> time_training(Group& group, const BenchSetup& setup) {
  const Engine engine({.threads = setup.threads, .group = &group});
  TrainOptions o;
  o.text = setup.work == "stories";
  o.batch = setup.batch ? setup.batch : o.text ? 512 : 2048;
  o.micro_batch = setup.lanes;
  std::unique_ptr<Task> task;
  Dataset images;
  TextData stories;
  if (o.text) {
    o.layers = 4, o.d_model = 128, o.clip = 1;
    stories = noise_stories(o.batch);
    task = std::make_unique<TextTask>(o, stories, engine.compute(), &group);
  } else {
    images = noise_images(o.batch);
    task = std::make_unique<ImageTask>(o, images, engine.compute(), &group);
  }
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(task->params(), o);
  Matrix<float> params(1, task->params().floats()), gradients(1, task->params().floats());
  task->params().initialise(params.span(), 0);
  task->set_weights(params.span());
  return time_steps(group, setup.repeats, [&](size_t i) {
    task->step(i, 0, gradients.span());
    optimizer->step(engine.compute(), i + 1, 1e-3, gradients.span(), params.span());
    task->set_weights(params.span());
  });
}

void run_rank(Group& group, const BenchSetup& setup) {
  const auto start = BenchClock::now();
  const std::vector<double> times = setup.work == "sum" ? time_sum(group, setup) : time_training(group, setup);
  const double seconds = std::chrono::duration<double>(BenchClock::now() - start).count();
  const std::vector<std::string> all = group.gather(Json{
      {"bytes", group.times().bytes_sent / (setup.repeats + 1)},
      {"waiting", group.times().waiting / seconds}}.dump());
  if (!group.first()) return;
  Json ranks = Json::array();
  for (const std::string& text : all) ranks.push_back(Json::parse(text));
  std::cout << Json{{"work", setup.work},
                    {"ranks", group.size()},
                    {"threads", setup.threads},
                    {"cores", available_threads()},
                    {"lanes", setup.lanes},
                    {"ms", time_spread(times).median_ms},
                    {"all_ms", times},
                    {"latency", setup.link.latency},
                    {"seconds_per_byte", setup.link.seconds_per_byte},
                    {"local", setup.local > 0},
                    {"of_ranks", ranks}}
                   .dump()
            << std::endl;
}

void run_local(const BenchSetup& setup) {
  auto transports = local_ranks(setup.local, setup.link);
  std::vector<std::thread> threads;
  for (auto& transport : transports)
    threads.emplace_back([&] {
      Group group(std::move(transport));
      run_rank(group, setup);
    });
  for (std::thread& t : threads) t.join();
}

BenchSetup parse(int argc, char** argv) {
  BenchSetup setup;
  if (argc > 1) setup.work = argv[1];
  std::map<std::string, size_t*> counts = {{"--batch", &setup.batch},
                                           {"--lanes", &setup.lanes},
                                           {"--repeats", &setup.repeats},
                                           {"--threads", &setup.threads},
                                           {"--local", &setup.local}};
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (counts.contains(name))
      *counts[name] = std::stoul(argv[i + 1]);
    else if (name == "--latency")
      setup.link.latency = std::stod(argv[i + 1]);
    else if (name == "--bandwidth")
      setup.link.seconds_per_byte = 1 / std::stod(argv[i + 1]);
    else
      throw Error({.code = ErrorCode::usage, .what = "no option '" + name + "'"});
  }
  return setup;
}

}  // namespace
}  // namespace glint

int main(int argc, char** argv) {
  try {
    const glint::BenchSetup setup = glint::parse(argc, argv);
    if (setup.local > 0) {
      glint::run_local(setup);
      return 0;
    }
    const std::unique_ptr<glint::Group> group = glint::launched_group(glint::find_launcher());
    glint::run_rank(*group, setup);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ranks_bench: %s\n", e.what());
    return 1;
  }
}
