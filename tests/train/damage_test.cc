// Damage to any file of a run is noticed and named, and the trainer puts right what it can. Links in a run
// directory lead nothing out of it.
#include <algorithm>

#include "glint/io/seal.h"
#include "tests/train/train_testing.h"

namespace glint {
namespace {

using namespace model_testing;
namespace fs = std::filesystem;

class Damage : public ::testing::Test {
 protected:
  const Dataset data_ = small_data();
  const TrainOptions options_ = small_options();
  TestMachine machine_{2};
  const Folder folder_;
  std::map<std::string, std::string> want_;

  void SetUp() override {
    go("whole");
    want_ = lasting_bytes(folder_ / "whole");
  }
  TrainRun go(const std::string& name, uint64_t stop_after = 0, bool force = false) {
    return run_training(options_, data_, machine_, folder_ / name, stop_after, 5, quick_files(), force);
  }
  // A finished run of its own.
  std::string copy(const std::string& name) {
    fs::remove_all(folder_ / name);
    fs::copy(folder_ / "whole", folder_ / name, fs::copy_options::recursive);
    return folder_ / name;
  }
  static void put(const std::string& path, const std::string& content) { write_atomic(quick_files(), path, content); }
  static bool mentions(const TrainRun& run, const std::string& text) {
    return std::any_of(run.notes.begin(), run.notes.end(),
                       [&](const std::string& n) { return n.find(text) != std::string::npos; });
  }
};

// One bit at many places of every file: what is read afterwards is what was there before, or the trainer has
// said that it mended the file.
TEST_F(Damage, AnyFlippedBitIsNoticedAndMended) {
  for (const char* name : {"run.json", "config.json", "model.safetensors", "metrics.jsonl"}) {
    const std::string run = copy("flipped"), good = read_file(run + "/" + name);
    const size_t places = std::min<size_t>(good.size(), 48);
    size_t noticed = 0;
    for (size_t i = 0; i < places; i++) {
      std::string bad = good;
      const size_t at = i * (good.size() - 1) / (places - 1);
      bad[at] = static_cast<char>(bad[at] ^ (1 << (i * 5 % 8)));
      put(run + "/" + name, bad);
      const TrainRun again = go("flipped");
      ASSERT_TRUE(mentions(again, name)) << name << ", byte " << at;
      noticed++;
      const bool metrics = std::string(name) == "metrics.jsonl";
      auto got = lasting_bytes(run);
      if (metrics) got["metrics"] = want_["metrics"];  // a lost line cannot be made again, but for the last
      expect_same(want_, got, name + std::string(", byte ") + std::to_string(at));
      EXPECT_EQ(again.result.last.test_loss, read_run_file(run).json["result"]["test_loss"].get<double>());
      EXPECT_TRUE(go("flipped").notes.empty()) << name << " is not mended, byte " << at;
      if (metrics) {
        EXPECT_GE(read_metrics(run).size() + 1, read_metrics(folder_ / "whole").size());
        put(run + "/" + name, good);
      }
    }
    EXPECT_EQ(noticed, places);
  }
}

// Killed at any moment of the mending: what was damaged is still known as damaged, what was not is not.
TEST_F(Damage, AKillWhileItIsMendedLooksLikeNothingElse) {
  for (const char* name : {"config.json", "model.safetensors", "run.json"}) {
    std::string bad = read_file(folder_ / "whole/" + name);
    bad[bad.size() / 2] ^= 4;
    const auto damaged = [&] {
      const std::string run = copy("mended");
      put(run + "/" + name, bad);
      return run;
    };
    FailingFiles counter(0);
    run_training(options_, data_, machine_, damaged(), 0, 5, counter);
    ASSERT_GT(counter.operations(), 3u);
    for (size_t at = 1; at <= counter.operations(); at++) {
      const std::string run = damaged();
      FailingFiles files(at);
      error_of([&] { run_training(options_, data_, machine_, run, 0, 5, files); });
      for (const char* other : {"run.json", "config.json", "model.safetensors"}) {
        if (read_file(run + "/" + other) == bad) continue;  // rightly named
        if (std::string(other) == "run.json") {
          EXPECT_NO_THROW(read_run_file(run)) << name << " " << at;
          continue;
        }
        if (read_file(run + "/run.json") == bad) continue;
        const RunFile file = read_run_file(run);
        if (file.finished()) EXPECT_EQ(damage(run, file.json, other), "") << name << " " << at;
      }
      go("mended");
      expect_same(want_, lasting_bytes(run), name);
    }
  }
}

TEST_F(Damage, ReadersNameWhatIsDamaged) {
  const std::string run = copy("read");
  const Json json = read_run_file(run).json;
  for (const char* name : {"config.json", "model.safetensors"}) {
    EXPECT_EQ(damage(run, json, name), "");
    std::string bad = read_file(run + "/" + name);
    bad[bad.size() / 3] ^= 1;
    put(run + "/" + name, bad);
    EXPECT_NE(damage(run, json, name).find("is damaged"), std::string::npos);
    fs::remove(run + "/" + name);
    EXPECT_EQ(damage(run, json, name), "is missing");
  }
  EXPECT_EQ(damage(run, json, "explorer.html"), "");
}

// A checksum that lost its name is a lost checksum, and a file without one is damaged.
TEST_F(Damage, AFileWithoutAChecksumIsDamaged) {
  const std::string run = copy("read");
  const auto rename_key = [&](const std::string& name) {
    std::string text = read_file(run + "/" + name);
    text[text.find("sha256") + 1] ^= 1;
    put(run + "/" + name, text);
  };
  rename_key("metrics.jsonl");
  EXPECT_EQ(scan_metrics(run).damaged, 1u);
  EXPECT_EQ(error_of([&] { read_metrics(run); }).code, ErrorCode::bad_file);
  rename_key("run.json");
  EXPECT_EQ(error_of([&] { read_run_file(run); }).code, ErrorCode::bad_file);
  Json json = read_run_file(folder_ / "whole").json;
  for (const char* key : {"sha256", "files", "evaluations"}) json.erase(key);
  put(run + "/run.json", json.dump(2) + "\n");
  EXPECT_EQ(error_of([&] { read_run_file(run); }).code, ErrorCode::bad_file);
  std::string lines;
  for (const Json& line : read_metrics(folder_ / "whole")) lines += line.dump() + "\n";
  put(run + "/metrics.jsonl", lines);
  EXPECT_TRUE(scan_metrics(run).lines.empty());
  // What is left says which run it is: the training mends it.
  put(run + "/metrics.jsonl", read_file(folder_ / "whole/metrics.jsonl"));
  EXPECT_TRUE(mentions(go("read"), "run.json is damaged"));
  expect_same(want_, lasting_bytes(run), "read");
}

// What the verbs that read have stored is removed when it is damaged: they make it anew.
TEST_F(Damage, DamagedReadingsAreRemoved) {
  const std::string run = copy("readings");
  const Matrix<float> m = random_matrix(1, 3, 4);
  const TensorToWrite tensor = tensor_to_write<float>("x", m.view());
  const auto store = [&](const std::string& name) {
    write_sealed_safetensors(quick_files(), run + "/" + name, std::span(&tensor, 1), {{"format", "f"}});
    return read_file(run + "/" + name);
  };
  for (const char* name : {"calibration.safetensors", "spectra.safetensors", "spectra-3-5.safetensors"}) {
    const std::string good = store(name);
    EXPECT_TRUE(go("readings").notes.empty());
    EXPECT_TRUE(fs::exists(run + "/" + name));
    for (size_t at = 0; at < good.size(); at += 3) {
      std::string bad = good;
      bad[at] ^= 2;
      put(run + "/" + name, bad);
      ASSERT_TRUE(mentions(go("readings"), name)) << at;
      ASSERT_FALSE(fs::exists(run + "/" + name)) << at;
    }
  }
}

TEST_F(Damage, LostMetricsGiveNoFalseResult) {
  const double loss = go("whole").result.last.test_loss;
  EXPECT_GT(loss, 0);
  // Of a finished run.
  std::string run = copy("lost");
  fs::remove(run + "/metrics.jsonl");
  TrainRun again = go("lost");
  EXPECT_EQ(again.result.last.test_loss, loss);
  EXPECT_TRUE(mentions(again, "metrics.jsonl has no line of the last step")) << again.notes.size();
  EXPECT_EQ(read_metrics(run).back()["test_loss"], loss);
  // Of one that was stopped after its last step: there is no copy, so the model is evaluated again.
  for (const bool finished : {false, true}) {
    run = copy("lost");
    Json json = read_run_file(run).json;
    if (!finished) json["state"] = "running";
    json.erase("result");
    put(run + "/run.json", sealed_text(json, 2) + "\n");
    put(run + "/metrics.jsonl", "");
    again = go("lost");
    EXPECT_TRUE(mentions(again, "evaluated again"));
    EXPECT_EQ(again.result.last.test_loss, loss);
    EXPECT_EQ(again.result.last.step, 30u);
    EXPECT_EQ(read_metrics(run).back()["test_loss"], loss);
    if (finished) continue;
    const Json last = read_metrics(folder_ / "whole").back(), got = read_metrics(run).back();
    for (const char* key : {"train_loss", "train_accuracy", "test_accuracy", "lr", "epoch", "epoch_end"})
      EXPECT_EQ(got[key], last[key]) << key;
    EXPECT_FALSE(read_run_file(run).json.contains("first_step_reaching")) << "nobody knows it any more";
  }
}

TEST_F(Damage, ForceLeavesNoFilesOfTheOldRun) {
  const std::string run = copy("forced");
  const std::vector<std::string> ours = {"tokenizer.model",     "scan-layer-2.csv",        "explorer.html",
                                         "spectra.safetensors", "spectra-3-5.safetensors", "calibration.safetensors",
                                         ".run.json.failed"};
  for (const std::string& name : ours) put(run + "/" + name, "old");
  fs::create_directory(run + "/figures");
  put(run + "/figures/truncation.svg", "old");
  put(run + "/notes.txt", "mine");
  go("forced", 0, true);
  for (const std::string& name : ours) EXPECT_FALSE(fs::exists(run + "/" + name)) << name;
  EXPECT_FALSE(fs::exists(run + "/figures"));
  EXPECT_EQ(read_file(run + "/notes.txt"), "mine");
  expect_same(want_, lasting_bytes(run), "forced");
}

TEST_F(Damage, ADirectoryNamedLikeACheckpointIsNoObstacle) {
  for (const char* step :
       {"step-000000000010.safetensors", "step-000000000099.safetensors", "step-000000000030.safetensors"}) {
    go("stopped", 7);
    const std::string path = folder_ / ("stopped/checkpoints/" + std::string(step));
    fs::create_directories(path + "/inside");
    const TrainRun again = go("stopped");
    EXPECT_EQ(again.result.resumed_from, 7u) << step;
    EXPECT_TRUE(mentions(again, step));
    expect_same(want_, lasting_bytes(folder_ / "stopped"), step);
    EXPECT_FALSE(fs::is_directory(path));
    fs::remove_all(folder_ / "stopped");
  }
}

// A run directory from somebody else: every file that is written is a link to a file outside it.
TEST_F(Damage, LinksLeadNothingOut) {
  const std::string outside = folder_ / "outside";
  fs::create_directory(outside);
  for (const char* name :
       {"run.json", "config.json", "metrics.jsonl", "model.safetensors", ".run.json.failed", "tokenizer.model"}) {
    const std::string run = copy("hostile"), secret = outside + "/secret";
    fs::remove_all(run + "/checkpoints/step-000000000030.safetensors");
    if (fs::exists(run + "/" + name))
      fs::copy_file(run + "/" + name, secret, fs::copy_options::overwrite_existing);
    else
      put(secret, "precious");
    const std::string before = read_file(secret);
    fs::remove(run + "/" + name);
    fs::create_symlink(secret, run + "/" + name);
    put(run + "/model.safetensors.bad", "");
    try {
      run_training(options_, data_, machine_, run, 0, 5, real_files());
      run_training(options_, data_, machine_, run, 0, 5, real_files(), true);
    } catch (const Error&) {
    }
    EXPECT_EQ(read_file(secret), before) << name;
  }
  // The lock and the folder of the checkpoints cannot be replaced: they are refused.
  std::string run = copy("hostile");
  fs::remove(run + "/.lock");
  fs::create_symlink(outside + "/lock", run + "/.lock");
  EXPECT_NE(error_of([&] { go("hostile"); }).where.find(".lock"), std::string::npos);
  EXPECT_FALSE(fs::exists(outside + "/lock"));
  run = copy("hostile");
  fs::rename(run + "/checkpoints", outside + "/checkpoints");
  fs::create_directory_symlink(outside + "/checkpoints", run + "/checkpoints");
  put(outside + "/checkpoints/mine.0123456789abcdef.tmp", "precious");
  fs::remove(run + "/model.safetensors");
  const ErrorParts e = error_of([&] { go("hostile"); });
  EXPECT_EQ(e.code, ErrorCode::bad_file);
  EXPECT_EQ(e.where, run + "/checkpoints");
  EXPECT_TRUE(fs::exists(outside + "/checkpoints/mine.0123456789abcdef.tmp"));
  go("hostile", 0, true);  // --force takes the link away, not what it leads to
  EXPECT_TRUE(fs::exists(outside + "/checkpoints/step-000000000030.safetensors"));
  EXPECT_FALSE(fs::is_symlink(run + "/checkpoints"));
}

// Links that go round: an Error with the place, whatever the file.
TEST_F(Damage, CirclesOfLinksAreErrors) {
  for (const char* name : {"run.json", "config.json", "metrics.jsonl", "model.safetensors", ".lock", "checkpoints",
                           "calibration.safetensors"}) {
    const std::string run = copy("circle");
    fs::remove_all(run + "/" + name);
    fs::create_symlink(name, run + "/" + name);
    try {
      const TrainRun again = go("circle");
      EXPECT_TRUE(mentions(again, name)) << name;
      expect_same(want_, lasting_bytes(run), name);
    } catch (const Error& e) {
      EXPECT_NE(e.parts().where.find(name), std::string::npos) << name << ": " << e.what();
    }
  }
}

// run.json is true after every end.
TEST_F(Damage, TheStateIsTrueAfterEveryEnd) {
  const auto state = [&](const std::string& name) {
    return read_run_file(folder_ / name).json["state"].get<std::string>();
  };
  go("stopped", 7);
  EXPECT_EQ(state("stopped"), "interrupted");
  EXPECT_EQ(state("whole"), "finished");

  class Diverging : public ImageTask {
   public:
    using ImageTask::ImageTask;
    StepResult step(uint64_t epoch, uint64_t index, std::span<float> gradients) override {
      StepResult r = ImageTask::step(epoch, index, gradients);
      if (index == 6) r.loss = std::numeric_limits<double>::infinity();
      return r;
    }
  };
  for (const uint64_t every : {3u, 9u}) {
    const std::string name = "diverged-" + std::to_string(every);
    Diverging task(options_, data_, machine_.compute);
    const TrainSetup setup{.out = folder_ / name, .checkpoint_every = every, .machine = Json::object()};
    const ErrorParts e = error_of([&] { train(options_, task, machine_.compute, quick_files(), setup, TrainHooks{}); });
    EXPECT_EQ(e.code, ErrorCode::numeric);
    EXPECT_EQ(state(name), "diverged");
    EXPECT_NE(e.hint.find(every == 3 ? "the checkpoint of step 6 is kept" : "there is no checkpoint yet"),
              std::string::npos)
        << e.hint;
  }

  // A disk that is full from some moment on: creating a file fails, renaming one does not.
  class Full : public FailingFiles {
   public:
    size_t creations = 0, full_after = 0;
    std::unique_ptr<WritableFile> create(const std::string& path) override {
      if (++creations > full_after) throw Error({.what = "No space left on device", .where = path});
      return FailingFiles::create(path);
    }
  };
  for (size_t after = 2; after < 12; after++) {
    const std::string name = "full-" + std::to_string(after);
    Full files;
    files.full_after = after;
    error_of([&] { run_training(options_, data_, machine_, folder_ / name, 0, 5, files); });
    EXPECT_EQ(state(name), "failed") << after;
    EXPECT_TRUE(go(name).notes.empty());
    expect_same(want_, lasting_bytes(folder_ / name), name);
    EXPECT_FALSE(fs::exists(folder_ / name + "/.run.json.failed"));
  }
}

}  // namespace
}  // namespace glint
