// What the tests of training share: a small data set in memory, and runs of it with every thread count.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>

#include "glint/base/rng.h"
#include "glint/train/image_task.h"
#include "glint/train/trainer.h"
#include "tests/model/model_testing.h"

namespace glint::model_testing {

// Pictures with a bright spot whose place depends on the class, under noise: can be learnt, not in one step.
inline ImageSet spots(uint32_t which, size_t count, size_t side, size_t classes) {
  ImageSet set;
  set.height = set.width = side;
  set.classes = classes;
  set.pixels = Matrix<uint8_t>(count, side * side);
  const Rng rng(1, Stream::test, which);
  for (size_t i = 0; i < count; i++) {
    const size_t label = rng.below(classes, 4 * i * side * side);
    set.labels.push_back(static_cast<uint32_t>(label));
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

// Real files, without the syncs that take most of a test's time, until the `fails_at`-th operation (0: none).
// It fails as the system would; a write fails half done. With `goes_on` all later ones fail, too.
class FailingFiles : public FileSystem {
 public:
  explicit FailingFiles(size_t fails_at = 0, int code = ENOSPC, bool goes_on = true)
      : fails_at_(fails_at), code_(code), goes_on_(goes_on) {}

  size_t operations() const { return count_; }
  std::unique_ptr<WritableFile> create(const std::string& path) override {
    fail_when_due(path);
    return std::make_unique<File>(*this, path, real_files().create(path));
  }
  std::unique_ptr<WritableFile> append(const std::string& path) override {
    fail_when_due(path);
    return std::make_unique<File>(*this, path, real_files().append(path));
  }
  void rename(const std::string& from, const std::string& to) override {
    fail_when_due(to);
    real_files().rename(from, to);
  }
  void remove(const std::string& path) override { real_files().remove(path); }
  void sync_directory(const std::string& directory) override { fail_when_due(directory); }

 private:
  class File : public WritableFile {
   public:
    File(FailingFiles& files, std::string path, std::unique_ptr<WritableFile> real)
        : files_(files), path_(std::move(path)), real_(std::move(real)) {}
    void write(std::span<const std::byte> bytes) override {
      if (files_.due()) real_->write(bytes.first(bytes.size() / 2));
      files_.fail_when_due(path_);
      real_->write(bytes);
    }
    void sync() override { files_.fail_when_due(path_); }

   private:
    FailingFiles& files_;
    std::string path_;
    std::unique_ptr<WritableFile> real_;
  };
  bool due() const { return count_ + 1 == fails_at_ || (goes_on_ && fails_at_ && count_ + 1 > fails_at_); }
  void fail_when_due(const std::string& path) {
    const bool now = due();
    count_++;
    if (now) throw Error({.what = std::string("cannot write: ") + std::strerror(code_), .where = path});
  }
  const size_t fails_at_;
  std::atomic<size_t> count_{0};
  const int code_;
  const bool goes_on_;
};

inline FileSystem& quick_files() {
  static FailingFiles files;
  return files;
}

struct TrainRun {
  TrainResult result;
  std::vector<std::string> notes;
  std::vector<uint64_t> steps;
};

// One call of train(); `stop_after` steps of this call it is asked to stop (0: never).
inline TrainRun run_training(const TrainOptions& options, const Dataset& data, TestMachine& machine,
                             const std::string& out, uint64_t stop_after = 0, uint64_t checkpoint_every = 0,
                             FileSystem& files = quick_files(), bool force = false) {
  ImageTask task(options, data, machine.compute);
  TrainRun run;
  TrainHooks hooks;
  hooks.on_step = [&](uint64_t step, uint64_t, double) { run.steps.push_back(step); };
  hooks.on_note = [&](const std::string& text) { run.notes.push_back(text); };
  hooks.should_stop = [&] { return stop_after && run.steps.size() >= stop_after; };
  const TrainSetup setup{.out = out, .force = force, .checkpoint_every = checkpoint_every, .machine = Json::object()};
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
  run.erase("sha256");
  run["result"].erase("seconds");
  bytes["run"] = run.dump();
  for (const auto& e : std::filesystem::directory_iterator(directory + "/checkpoints"))
    if (const std::string name = e.path().filename().string(); e.is_regular_file() && bytes["last checkpoint"] < name)
      bytes["last checkpoint"] = name;
  bytes["checkpoint"] = read_file(directory + "/checkpoints/" + bytes["last checkpoint"]);
  return bytes;
}

inline void expect_same(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b,
                        const std::string& what) {
  for (const auto& [name, content] : a) {
    ASSERT_TRUE(b.contains(name)) << what;
    EXPECT_TRUE(content == b.at(name)) << what << ": " << name << " differs";
  }
}

}  // namespace glint::model_testing
