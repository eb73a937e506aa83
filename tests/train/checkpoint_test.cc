// Checkpoints: what is damaged is noticed, whatever the damage, and the run goes on from what is whole.
#include "glint/train/checkpoint.h"

#include <algorithm>
#include <fstream>

#include "tests/train/train_testing.h"

namespace glint {
namespace {

using namespace model_testing;
namespace fs = std::filesystem;

std::vector<std::string> names(const std::string& directory) {
  std::vector<std::string> found;
  for (const auto& e : fs::directory_iterator(directory)) found.push_back(e.path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}
std::string file_of(uint64_t step) {
  const std::string digits = std::to_string(step);
  return "step-" + std::string(12 - digits.size(), '0') + digits + ".safetensors";
}

// A run's state with what AdamW keeps.
struct Whole : TrainState {
  Matrix<float> moment1, moment2;
  std::vector<StateBuffer> buffers() { return {{"moment1", moment1.span()}, {"moment2", moment2.span()}}; }
};

Whole state_at(uint64_t step) {
  Whole s;
  s.step = step;
  s.sums = {0.1 * static_cast<double>(step), 3 * step, 7 * step};
  s.params = random_matrix(static_cast<uint32_t>(step), 1, 48);
  s.moment1 = random_matrix(static_cast<uint32_t>(step + 1000), 1, 48);
  s.moment2 = random_matrix(static_cast<uint32_t>(step + 2000), 1, 48);
  return s;
}
void save_at(const std::string& directory, uint64_t step, const std::string& identity = "id") {
  Whole s = state_at(step);
  save_checkpoint(quick_files(), directory, identity, s, s.buffers());
}
bool same(const Whole& a, const Whole& b) {
  const auto equal = [](const Matrix<float>& x, const Matrix<float>& y) {
    return std::equal(x.span().begin(), x.span().end(), y.span().begin(), y.span().end());
  };
  return a.step == b.step && a.sums.loss == b.sums.loss && a.sums.correct == b.sums.correct &&
         a.sums.samples == b.sums.samples && equal(a.params, b.params) && equal(a.moment1, b.moment1) &&
         equal(a.moment2, b.moment2);
}

struct Loaded {
  bool found = false;
  Whole state;
  std::vector<std::string> notes;
};
Loaded load_from(const std::string& directory, const std::string& identity = "id") {
  Loaded l;
  l.state.params = l.state.moment1 = l.state.moment2 = Matrix<float>(1, 48);
  l.found = load_newest_checkpoint(directory, identity, l.state, l.state.buffers(),
                                   [&](const std::string& text) { l.notes.push_back(text); });
  return l;
}

TEST(Checkpoint, TheLastTwoAreKeptAndTheNewestLoads) {
  const Folder folder;
  for (const uint64_t step : {3, 20, 100}) save_at(folder.path(), step);
  EXPECT_EQ(names(folder.path()), (std::vector<std::string>{file_of(20), file_of(100)}));
  const Loaded l = load_from(folder.path());
  EXPECT_TRUE(l.found);
  EXPECT_TRUE(same(l.state, state_at(100)));
  EXPECT_TRUE(l.notes.empty());
}

TEST(Checkpoint, NoneIsNoError) {
  const Folder folder;
  EXPECT_FALSE(load_from(folder.path()).found);
  EXPECT_FALSE(load_from(folder / "nothing").found);
}

// Every byte of the file matters: a flip anywhere is noticed, and the one before takes its place.
TEST(Checkpoint, AnyFlippedByteFallsBack) {
  const Folder folder;
  save_at(folder.path(), 10);
  save_at(folder.path(), 20);
  const std::string path = folder / file_of(20), good = read_file(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte).flush();
  };
  size_t harmless = 0;
  for (size_t at = 0; at < good.size(); at++)
    for (const char flip : {'\x01', '\x10'}) {
      put(at, static_cast<char>(good[at] ^ flip));
      const Loaded l = load_from(folder.path());
      ASSERT_TRUE(l.found) << at;
      if (l.state.step == 20) {  // only what does not change the content may pass
        harmless++;
        ASSERT_TRUE(same(l.state, state_at(20))) << "byte " << at;
      } else {
        ASSERT_TRUE(same(l.state, state_at(10))) << "byte " << at;
        ASSERT_EQ(l.notes.size(), 1u);
        EXPECT_NE(l.notes[0].find(file_of(20)), std::string::npos);
        EXPECT_NE(l.notes[0].find("trying the one before"), std::string::npos);
      }
      put(at, good[at]);
    }
  EXPECT_LE(harmless, 16u) << "spaces that pad the header are all that may change";
}

TEST(Checkpoint, CutEmptyAndForeignContentFallsBack) {
  const Folder folder;
  save_at(folder.path(), 10);
  save_at(folder.path(), 20);
  const std::string path = folder / file_of(20), good = read_file(path);
  std::vector<std::string> contents = {
      "", "\n", "garbage", std::string(good.size(), '\0'), std::string(5000, '\xff'), good + "x", good + good};
  for (size_t size = 1; size < good.size(); size += 41) contents.push_back(good.substr(0, size));
  for (const std::string& content : contents) {
    write_atomic(quick_files(), path, content);
    const Loaded l = load_from(folder.path());
    ASSERT_TRUE(l.found);
    EXPECT_TRUE(same(l.state, state_at(10))) << content.size();
    EXPECT_EQ(l.notes.size(), 1u);
  }
  fs::remove(path);
  fs::create_directory(path);  // a folder of that name
  EXPECT_TRUE(same(load_from(folder.path()).state, state_at(10)));
}

TEST(Checkpoint, AnotherRunsIsRefused) {
  const Folder folder;
  save_at(folder.path(), 10, "other");
  const Loaded l = load_from(folder.path());
  EXPECT_FALSE(l.found);
  ASSERT_EQ(l.notes.size(), 1u);
  EXPECT_NE(l.notes[0].find("another run"), std::string::npos);
}

// Damaged files of later steps would otherwise count as the newest two, and the new ones be removed.
TEST(Checkpoint, ANewOneIsKeptBesideDamagedLaterOnes) {
  const Folder folder;
  for (const uint64_t step : {100, 200}) write_atomic(quick_files(), folder / file_of(step), "garbage");
  EXPECT_FALSE(load_from(folder.path()).found);
  save_at(folder.path(), 5);
  EXPECT_TRUE(same(load_from(folder.path()).state, state_at(5)));
  save_at(folder.path(), 6);
  EXPECT_EQ(names(folder.path()), (std::vector<std::string>{file_of(5), file_of(6)}));
}

// The file of tests/golden/make_checkpoint.py, which every version so far has written.
TEST(Checkpoint, BytesOfEarlierVersions) {
  const std::string golden = read_file(GLINT_GOLDEN_DIR "/checkpoint.safetensors");
  const Folder old, now;
  write_atomic(quick_files(), old / file_of(20), golden);
  Loaded l = load_from(old.path());
  ASSERT_TRUE(l.found);
  EXPECT_EQ(l.state.step, 20u);
  EXPECT_EQ(l.state.sums.loss, 2.75);
  EXPECT_EQ(l.state.sums.correct, 60u);
  EXPECT_EQ(l.state.sums.samples, 140u);
  for (size_t i = 0; i < 48; i++) {
    EXPECT_EQ(l.state.params(0, i), -3 + 0.125f * static_cast<float>(i));
    EXPECT_EQ(l.state.moment1(0, i), -0.5f * static_cast<float>(i));
    EXPECT_EQ(l.state.moment2(0, i), 1 + 0.25f * static_cast<float>(i));
  }
  save_checkpoint(quick_files(), now.path(), "id", l.state, l.state.buffers());
  EXPECT_TRUE(read_file(now / file_of(20)) == golden);
}

// Any number of buffers of any size, found by their names and not by their order.
TEST(Checkpoint, TheStateOfAnyOptimiser) {
  const Folder folder;
  Matrix<float> velocity = random_matrix(1, 1, 48), counts = random_matrix(2, 1, 3), few(1, 48), other(1, 3);
  const std::vector<StateBuffer> saved = {{"velocity", velocity.span()}, {"counts", counts.span()}};
  save_checkpoint(quick_files(), folder.path(), "id", state_at(7), saved);
  TrainState state;
  state.params = Matrix<float>(1, 48);
  std::string notes;
  const auto load = [&](std::vector<StateBuffer> into) {
    notes.clear();
    return load_newest_checkpoint(folder.path(), "id", state, into, [&](const std::string& text) { notes += text; });
  };
  ASSERT_TRUE(load({{"counts", other.span()}, {"velocity", few.span()}})) << notes;
  EXPECT_TRUE(std::ranges::equal(few.span(), velocity.span()));
  EXPECT_TRUE(std::ranges::equal(other.span(), counts.span()));
  EXPECT_EQ(state.step, 7u);
  EXPECT_EQ(checkpoint_weights(folder.path(), "id", 7, 48)->weights(0, 5), state_at(7).params(0, 5));

  // Other names, fewer or more buffers, another size: not of this optimiser, and nothing is changed.
  state.step = 1;
  std::fill_n(few.data(), few.size(), 5.0f);
  EXPECT_FALSE(load({{"moment1", few.span()}, {"moment2", few.span()}}));
  EXPECT_FALSE(load({{"velocity", few.span()}}));
  EXPECT_NE(notes.find("another optimiser"), notes.npos) << notes;
  EXPECT_FALSE(load({{"velocity", few.span()}, {"counts", few.span()}}));
  EXPECT_FALSE(load({{"velocity", few.span()}, {"counts", other.span()}, {"more", other.span()}}));
  EXPECT_EQ(state.step, 1u);
  EXPECT_TRUE(std::ranges::all_of(few.span(), [](float v) { return v == 5; }));
}

// The whole trainer on damaged checkpoints: the same bytes in the end, and it says what it did.
TEST(Checkpoint, ARunGoesOnFromTheOneBefore) {
  const Dataset data = small_data();
  const TrainOptions o = small_options();
  TestMachine machine(2);
  const Folder folder;
  run_training(o, data, machine, folder / "whole");
  const auto want = lasting_bytes(folder / "whole");
  run_training(o, data, machine, folder / "stopped", 17, 5);
  EXPECT_EQ(names(folder / "stopped/checkpoints"), (std::vector<std::string>{file_of(15), file_of(17)}));

  const auto damaged = [&](const std::string& to, std::initializer_list<uint64_t> steps) {
    fs::copy(folder / "stopped", folder / to, fs::copy_options::recursive);
    for (const uint64_t step : steps) {
      const std::string path = folder / (to + "/checkpoints/" + file_of(step));
      std::string content = read_file(path);
      content[content.size() / 2] ^= 1;
      write_atomic(quick_files(), path, content);
    }
    return run_training(o, data, machine, folder / to);
  };
  const TrainRun newest = damaged("newest", {17});
  EXPECT_EQ(newest.result.resumed_from, 15u);
  ASSERT_EQ(newest.notes.size(), 1u);
  EXPECT_NE(newest.notes[0].find(file_of(17)), std::string::npos) << newest.notes[0];
  expect_same(want, lasting_bytes(folder / "newest"), "newest damaged");

  const TrainRun both = damaged("both", {15, 17});
  EXPECT_EQ(both.result.resumed_from, 0u);
  ASSERT_EQ(both.notes.size(), 2u);
  EXPECT_NE(both.notes[1].find("starts again from the beginning"), std::string::npos) << both.notes[1];
  expect_same(want, lasting_bytes(folder / "both"), "both damaged");
}

}  // namespace
}  // namespace glint
