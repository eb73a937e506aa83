// What the tests of training share: a small data set in memory, and runs of it with every thread count.
#pragma once

#include <map>

#include "glint/base/rng.h"
#include "glint/train/image_task.h"
#include "glint/train/trainer.h"
#include "tests/model/model_testing.h"

namespace glint::testing {

// Pictures with a bright spot whose place depends on the class, under noise: can be learnt, not in one step.
inline ImageSet spots(uint32_t which, size_t count, size_t side, size_t classes) {
  ImageSet set;
  set.height = set.width = side;
  set.classes = classes;
  set.pixels = Matrix<uint8_t>(count, side * side);
  const Rng rng(1, Stream::test, which);
  for (size_t i = 0; i < count; i++) {
    const size_t label = rng.below(classes, 4 * i * side * side);
    set.labels.push_back(static_cast<uint8_t>(label));
    for (size_t p = 0; p < side * side; p++) {
      const double noise = 90 * rng.uniform(i * side * side + p);
      const bool bright = p % classes == label && rng.uniform((count + i) * side * side + p) < 0.6;
      set.pixels(i, p) = static_cast<uint8_t>(noise + (bright ? 150 : 0));
    }
  }
  return set;
}

inline Dataset small_data(size_t train = 330, size_t test = 130) {
  Dataset d;
  d.name = "spots";
  d.train = spots(1, train, 6, 5);
  d.test = spots(2, test, 6, 5);
  d.class_names = {"a", "b", "c", "d", "e"};
  d.checksum = "spots " + std::to_string(train) + " " + std::to_string(test);
  d.origin = "built in";
  return d;
}

// 10 steps an epoch, 3 epochs.
inline TrainOptions small_options() {
  TrainOptions o;
  o.data = "spots";
  o.layers = 2;
  o.d_model = 24;
  o.batch = 32;
  o.epochs = 3;
  o.lr = 5e-3;
  o.noise_std = 0.2;
  return o;
}

struct Run {
  TrainResult result;
  std::vector<std::string> notes;
  std::vector<uint64_t> steps;
};

// One call of train(); `stop_after` steps of this call it is asked to stop (0: never).
inline Run run_training(const TrainOptions& options, const Dataset& data, TestMachine& machine,
                        const std::string& out, uint64_t stop_after = 0, uint64_t checkpoint_every = 0,
                        FileSystem& files = real_files(), bool force = false) {
  ImageTask task(options, data, machine.compute, files);
  Run run;
  TrainHooks hooks;
  hooks.on_step = [&](uint64_t step, uint64_t, double) { run.steps.push_back(step); };
  hooks.on_note = [&](const std::string& text) { run.notes.push_back(text); };
  hooks.should_stop = [&] { return stop_after && run.steps.size() >= stop_after; };
  const TrainSetup setup{
      .out = out, .force = force, .checkpoint_every = checkpoint_every, .machine = Json::object()};
  run.result = train(options, task, machine.compute, files, setup, hooks);
  return run;
}

// Everything of a finished run that must not depend on threads, interruptions or time.
inline std::map<std::string, std::string> lasting_bytes(const std::string& directory) {
  std::map<std::string, std::string> bytes;
  for (const char* name : {"model.safetensors", "config.json"})
    bytes[name] = read_file(directory + "/" + std::string(name));
  for (Json line : read_metrics(directory)) {
    line.erase("seconds");
    bytes["metrics"] += line.dump() + "\n";
  }
  Json run = read_json(directory + "/run.json");
  run.erase("seconds");
  run.erase("written");
  run["result"].erase("seconds");
  bytes["run"] = run.dump();
  for (const auto& e : std::filesystem::directory_iterator(directory + "/checkpoints"))
    if (const std::string name = e.path().filename().string(); bytes["last checkpoint"] < name)
      bytes["last checkpoint"] = name;
  bytes["checkpoint"] = read_file(directory + "/checkpoints/" + bytes["last checkpoint"]);
  return bytes;
}

inline void expect_same(const std::map<std::string, std::string>& a,
                        const std::map<std::string, std::string>& b, const std::string& what) {
  for (const auto& [name, content] : a) {
    ASSERT_TRUE(b.contains(name)) << what;
    EXPECT_TRUE(content == b.at(name)) << what << ": " << name << " differs";
  }
}

}  // namespace glint::testing
