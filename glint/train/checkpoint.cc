#include "glint/train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/io/safetensors.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKept = 2;
constexpr const char* kPrefix = "step-";
constexpr const char* kSuffix = ".safetensors";

std::string file_name(uint64_t step) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%012llu", static_cast<unsigned long long>(step));
  return kPrefix + std::string(digits) + kSuffix;
}

// Newest first. Files, or whatever else has such a name.
std::vector<std::string> list(const std::string& directory, bool is_file = true) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& e : fs::directory_iterator(directory, ignored)) {
    const std::string name = e.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
        fs::is_regular_file(e.symlink_status(ignored)) == is_file)
      found.push_back(e.path().string());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

// Doubles as their bits, so that sums go on exactly where they stopped.
std::string bits_text(double v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof bits);
  return std::to_string(bits);
}

uint64_t number(const SafetensorsView& file, const char* key) {
  const std::string* text = file.find_metadata(key);
  uint64_t value = 0;
  if (text == nullptr ||
      std::from_chars(text->data(), text->data() + text->size(), value).ptr != text->data() + text->size())
    throw Error({.code = ErrorCode::bad_file,
                 .what = std::string("checkpoint without ") + key,
                 .where = file.where()});
  return value;
}

// Of everything that a resumed run takes from the file.
std::string checksum(const std::string& identity, const TrainState& s) {
  Sha256 hash;
  std::string text = identity;
  for (const std::string& part : {std::to_string(s.step), bits_text(s.sums.loss),
                                  std::to_string(s.sums.correct), std::to_string(s.sums.samples)})
    text += " " + part;
  hash.update(as_bytes(text));
  for (const Matrix<float>* m : {&s.params, &s.moment1, &s.moment2}) hash.update(std::as_bytes(m->span()));
  return hex(hash.finish());
}

void load(const std::string& path, const std::string& identity, TrainState& state) {
  const SafetensorsFile file(path);
  const std::string* id = file->find_metadata("identity");
  if (id == nullptr || *id != identity)
    throw Error({.code = ErrorCode::bad_file, .what = "checkpoint of another run", .where = path});
  TrainState loaded;
  const auto take = [&](const char* name, size_t size) {
    const FloatMatrix m = file->matrix(name, 1, size);
    Matrix<float> out(1, size);
    std::copy_n(m.view.data(), size, out.data());
    return out;
  };
  loaded.params = take("params", state.params.size());
  loaded.moment1 = take("moment1", state.params.size());
  loaded.moment2 = take("moment2", state.params.size());
  loaded.step = number(file.view(), "step");
  const uint64_t loss_bits = number(file.view(), "epoch_loss_bits");
  std::memcpy(&loaded.sums.loss, &loss_bits, sizeof loss_bits);
  loaded.sums.correct = number(file.view(), "epoch_correct");
  loaded.sums.samples = number(file.view(), "epoch_samples");
  const std::string* sum = file->find_metadata("sha256");
  if (sum == nullptr || *sum != checksum(identity, loaded))
    throw Error({.code = ErrorCode::bad_file,
                 .what = "checksum of the checkpoint does not match its content",
                 .where = path});
  state = std::move(loaded);
}

}  // namespace

void save_checkpoint(FileSystem& files, const std::string& directory, const std::string& identity,
                     const TrainState& s) {
  const TensorToWrite tensors[] = {tensor_to_write("params", s.params.view()),
                                   tensor_to_write("moment1", s.moment1.view()),
                                   tensor_to_write("moment2", s.moment2.view())};
  write_safetensors(files, directory + "/" + file_name(s.step), tensors,
                    {{"identity", identity},
                     {"step", std::to_string(s.step)},
                     {"epoch_loss_bits", bits_text(s.sums.loss)},
                     {"epoch_correct", std::to_string(s.sums.correct)},
                     {"epoch_samples", std::to_string(s.sums.samples)},
                     {"sha256", checksum(identity, s)}});
  // A file of a later step was there when the run resumed from an earlier one, so it was damaged. If it
  // stayed it would take the place of a good one.
  size_t kept = 0;
  for (const std::string& path : list(directory))
    if (fs::path(path).filename().string() > file_name(s.step) || kept++ >= kKept) files.remove(path);
}

bool load_newest_checkpoint(const std::string& directory, const std::string& identity, TrainState& state,
                            const std::function<void(const std::string&)>& note) {
  const std::vector<std::string> all = list(directory);
  for (size_t i = 0; i < all.size(); i++) {
    try {
      load(all[i], identity, state);
      return true;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::bad_file) throw;
      note("checkpoint " + all[i] + " cannot be used (" + e.parts().what + "); " +
           (i + 1 < all.size() ? "trying the one before"
                               : "no other is left, so the run starts again from the beginning"));
    }
  }
  return false;
}

bool has_checkpoint_of(const std::string& directory, const std::string& identity) {
  for (const std::string& path : list(directory)) {
    try {
      const SafetensorsFile file(path);
      if (const std::string* id = file->find_metadata("identity"); id && *id == identity) return true;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::bad_file) throw;
    }
  }
  return false;
}

std::optional<CheckpointWeights> checkpoint_weights(const std::string& directory, const std::string& identity,
                                                    uint64_t step, size_t floats) {
  TrainState state;
  state.params = Matrix<float>(1, floats);
  const std::string path = directory + "/" + file_name(step);
  if (!exists(path)) return {};
  try {
    load(path, identity, state);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_file) throw;
    return {};
  }
  if (state.step != step) return {};
  return CheckpointWeights{path, std::move(state.params)};
}

std::vector<std::string> clear_checkpoint_names(FileSystem& files, const std::string& directory) {
  std::vector<std::string> notes;
  for (const std::string& path : list(directory, false)) {
    std::error_code ignored;
    const std::string aside = temporary_name(path) + ".aside";
    if (fs::is_directory(fs::symlink_status(path, ignored)))
      files.rename(path, aside);
    else
      files.remove(path);  // a link, a pipe: nothing is lost with it
    notes.push_back(path + " is no checkpoint; it was " +
                    (exists(aside) ? "renamed to " + fs::path(aside).filename().string() : "removed"));
  }
  return notes;
}

}  // namespace glint
