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
constexpr std::string_view kParams = "params";

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
    throw Error({.code = ErrorCode::bad_file, .what = std::string("checkpoint without ") + key, .where = file.where()});
  return value;
}

// A tensor of the file: [1, n] floats.
struct Part {
  std::string_view name;
  std::span<const std::byte> bytes;
};

// The weights first, then what the optimiser keeps, by name: the order of the file and of its checksum.
std::vector<Part> in_order(std::vector<Part> parts) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::pair(a.name != kParams, a.name) < std::pair(b.name != kParams, b.name);
  });
  return parts;
}

// Of everything that a resumed run takes from the file.
std::string checksum(const std::string& identity, uint64_t step, const EpochSums& sums, std::span<const Part> parts) {
  Sha256 hash;
  std::string text = identity;
  for (const std::string& part :
       {std::to_string(step), bits_text(sums.loss), std::to_string(sums.correct), std::to_string(sums.samples)})
    text += " " + part;
  hash.update(as_bytes(text));
  for (const Part& part : parts) hash.update(part.bytes);
  return hex(hash.finish());
}

// A file that is whole and of this run.
class Checkpoint {
 public:
  Checkpoint(const std::string& path, const std::string& identity) : file_(path) {
    const std::string* id = file_->find_metadata("identity");
    if (id == nullptr || *id != identity) refuse("checkpoint of another run");
    step = number(file_.view(), "step");
    const uint64_t loss_bits = number(file_.view(), "epoch_loss_bits");
    std::memcpy(&sums.loss, &loss_bits, sizeof loss_bits);
    sums.correct = number(file_.view(), "epoch_correct");
    sums.samples = number(file_.view(), "epoch_samples");
    std::vector<Part> parts;
    for (const TensorInfo& t : file_->tensors()) parts.push_back({t.name, t.bytes});
    const std::string* sum = file_->find_metadata("sha256");
    if (sum == nullptr || *sum != checksum(identity, step, sums, in_order(std::move(parts))))
      refuse("checksum of the checkpoint does not match its content");
  }

  uint64_t step = 0;
  EpochSums sums;

  std::span<const std::byte> tensor(std::string_view name, size_t size) const {
    const size_t shape[] = {1, size};
    return file_->at(name, shape, Dtype::f32).bytes;
  }
  size_t tensors() const { return file_->tensors().size(); }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error({.code = ErrorCode::bad_file, .what = what, .where = file_->where()});
  }

 private:
  SafetensorsFile file_;
};

void load(const std::string& path, const std::string& identity, TrainState& state,
          std::span<const StateBuffer> optimizer) {
  const Checkpoint file(path, identity);
  std::vector<std::pair<std::span<const std::byte>, std::span<float>>> copies = {
      {file.tensor(kParams, state.params.size()), state.params.span()}};
  for (const StateBuffer& b : optimizer) copies.emplace_back(file.tensor(b.name, b.values.size()), b.values);
  if (copies.size() != file.tensors()) file.refuse("checkpoint of another optimiser");
  for (const auto& [from, to] : copies) std::copy(from.begin(), from.end(), std::as_writable_bytes(to).begin());
  state.step = file.step;
  state.sums = file.sums;
}

}  // namespace

void save_checkpoint(FileSystem& files, const std::string& directory, const std::string& identity, const TrainState& s,
                     std::span<const StateBuffer> optimizer) {
  std::vector<Part> parts = {{kParams, std::as_bytes(s.params.span())}};
  for (const StateBuffer& b : optimizer) parts.push_back({b.name, std::as_bytes(b.values)});
  parts = in_order(std::move(parts));
  std::vector<TensorToWrite> tensors;
  for (const Part& p : parts)
    tensors.push_back({std::string(p.name), Dtype::f32, {1, p.bytes.size() / sizeof(float)}, p.bytes});
  write_safetensors(files, directory + "/" + file_name(s.step), tensors,
                    {{"identity", identity},
                     {"step", std::to_string(s.step)},
                     {"epoch_loss_bits", bits_text(s.sums.loss)},
                     {"epoch_correct", std::to_string(s.sums.correct)},
                     {"epoch_samples", std::to_string(s.sums.samples)},
                     {"sha256", checksum(identity, s.step, s.sums, parts)}});
  // A file of a later step was there when the run resumed from an earlier one, so it was damaged. If it
  // stayed it would take the place of a good one.
  size_t kept = 0;
  for (const std::string& path : list(directory))
    if (fs::path(path).filename().string() > file_name(s.step) || kept++ >= kKept) files.remove(path);
}

bool load_newest_checkpoint(const std::string& directory, const std::string& identity, TrainState& state,
                            std::span<const StateBuffer> optimizer,
                            const std::function<void(const std::string&)>& note) {
  const std::vector<std::string> all = list(directory);
  for (size_t i = 0; i < all.size(); i++) {
    try {
      load(all[i], identity, state, optimizer);
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

uint64_t newest_checkpoint_step(const std::string& directory) {
  const std::vector<std::string> found = list(directory);
  if (found.empty()) return 0;
  const size_t digits = found.front().rfind(kPrefix) + std::string_view(kPrefix).size();
  uint64_t step = 0;
  std::from_chars(found.front().data() + digits, found.front().data() + found.front().size(), step);
  return step;
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
  const std::string path = directory + "/" + file_name(step);
  if (!exists(path)) return {};
  try {
    const Checkpoint file(path, identity);
    if (file.step != step) return {};
    CheckpointWeights found{path, Matrix<float>(1, floats)};
    const std::span<const std::byte> bytes = file.tensor(kParams, floats);
    std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(found.weights.span()).begin());
    return found;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_file) throw;
    return {};
  }
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
