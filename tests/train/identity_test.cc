// Runs from before there was an option: they are the runs that they would be with its default, and go on under
// the identity that their checkpoints know.
#include "glint/base/sha256.h"
#include "glint/io/seal.h"
#include "tests/train/train_testing.h"

namespace glint {
namespace {

using namespace model_testing;
namespace fs = std::filesystem;

class Identity : public ::testing::Test {
 protected:
  const Dataset data_ = small_data();
  TrainOptions options_ = small_options();
  TestMachine machine_{2};
  const Folder folder_;

  TrainRun go(const std::string& name, uint64_t stop_after = 0) {
    return run_training(options_, data_, machine_, folder_ / name, stop_after, 5);
  }

  static std::string hash_of(const Json& run) { return sha256_hex(as_bytes(run["identity"].dump())); }

  // The run as a version without these options would have left it.
  void forget(const std::string& name, std::initializer_list<const char*> options) {
    const std::string path = folder_ / (name + "/run.json");
    Json run = read_json(path);
    const std::string before = hash_of(run);
    for (const char* option : options) ASSERT_EQ(run["identity"]["options"].erase(option), 1u) << option;
    run.erase(kSealKey);
    write_atomic(quick_files(), path, sealed_text(run, 2) + "\n");
    const std::string after = hash_of(run);
    ASSERT_NE(before, after);
    for (const auto& e : fs::directory_iterator(folder_ / (name + "/checkpoints"))) rename(e.path(), before, after);
  }

  // The checkpoint with another identity, and the checksum that belongs to it: loaded and saved anew.
  static void rename(const fs::path& path, const std::string& before, const std::string& after) {
    const SafetensorsFile file(path.string());
    TrainState state;
    std::vector<Matrix<float>> kept;
    std::vector<StateBuffer> buffers;
    for (const TensorInfo& t : file->tensors()) {
      kept.emplace_back(1, t.shape[1]);
      if (t.name == "params")
        state.params = kept.back();
      else
        buffers.push_back({t.name, kept.back().span()});
    }
    const Folder one;
    fs::copy_file(path, one / path.filename().string());
    ASSERT_TRUE(load_newest_checkpoint(one.path(), before, state, buffers, [](const std::string&) {}));
    const Folder two;
    save_checkpoint(quick_files(), two.path(), after, state, buffers);
    fs::copy_file(two / path.filename().string(), path, fs::copy_options::overwrite_existing);
  }
};

TEST_F(Identity, AnAbsentOptionHasItsDefault) {
  go("whole");
  for (const uint64_t stop : {uint64_t{12}, uint64_t{0}}) {
    const std::string name = "run-" + std::to_string(stop);
    go(name, stop);
    forget(name, {"warmup", "drop-last", "clip"});
    const Json before = read_json(folder_ / (name + "/run.json"));
    const TrainRun again = go(name);
    EXPECT_TRUE(again.notes.empty()) << again.notes[0];
    EXPECT_EQ(again.result.resumed_from, stop);
    EXPECT_EQ(again.result.state, stop ? TrainResult::State::finished : TrainResult::State::already_finished);
    auto want = lasting_bytes(folder_ / "whole"), got = lasting_bytes(folder_ / name);
    for (const char* other : {"run", "checkpoint"}) want.erase(other), got.erase(other);
    expect_same(want, got, name);
    // Still known by the identity that it began with.
    EXPECT_EQ(read_json(folder_ / (name + "/run.json"))["identity"], before["identity"]);
    EXPECT_EQ(go(name).result.state, TrainResult::State::already_finished);
  }
}

TEST_F(Identity, WhatIsNotTheDefaultIsAnotherRun) {
  options_.warmup = 3;
  go("run", 12);
  forget("run", {"warmup"});
  const ErrorParts e = error_of([&] { go("run"); });
  EXPECT_EQ(e.code, ErrorCode::usage);
  EXPECT_EQ(e.expected, "options.warmup: 0 there, 3 now");
}

// An option of a later version: what it meant cannot be known.
TEST_F(Identity, AnUnknownOptionIsAnotherRun) {
  go("run", 12);
  Json run = read_json(folder_ / "run/run.json");
  run["identity"]["options"]["dropout"] = 0.5;
  run.erase(kSealKey);
  write_atomic(quick_files(), folder_ / "run/run.json", sealed_text(run, 2) + "\n");
  const ErrorParts e = error_of([&] { go("run"); });
  EXPECT_EQ(e.code, ErrorCode::usage);
  EXPECT_EQ(e.expected, "options.dropout: 0.5 there, unknown now");
}

// A damaged run.json that can still be read says which run it is, too.
TEST_F(Identity, OfADamagedRunFile) {
  go("run", 12);
  forget("run", {"eps"});
  const std::string path = folder_ / "run/run.json";
  std::string text = read_file(path);
  text.replace(text.find("\"interrupted\""), 13, "\"interrupred\"");
  write_atomic(quick_files(), path, text);
  const TrainRun again = go("run");
  EXPECT_EQ(again.result.resumed_from, 12u);
  ASSERT_EQ(again.notes.size(), 1u);
  EXPECT_NE(again.notes[0].find("run.json is damaged"), std::string::npos) << again.notes[0];
}

}  // namespace
}  // namespace glint
