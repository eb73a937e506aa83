#include "glint/train/run_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/sha256.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".lock";
// What glint writes into a run directory; --force removes these and nothing else.
constexpr const char* kFiles[] = {"run.json",          "metrics.jsonl",       "config.json",
                                  "model.safetensors", "spectra.safetensors", "calibration.safetensors",
                                  "explorer.html"};
constexpr const char* kFolders[] = {"checkpoints", "figures"};

bool is_ours(const std::string& name) {
  const auto is = [&](const char* other) { return name == other; };
  return is(kLock) || std::any_of(std::begin(kFiles), std::end(kFiles), is) ||
         std::any_of(std::begin(kFolders), std::end(kFolders), is);
}

// What write_atomic leaves behind when the process is killed: NAME.PID.tmp.
bool is_leftover(const std::string& name) {
  constexpr std::string_view kEnd = ".tmp";
  if (!name.ends_with(kEnd)) return false;
  const std::string stem = name.substr(0, name.size() - kEnd.size());
  const size_t dot = stem.rfind('.');
  return dot != stem.npos && dot + 1 < stem.size() &&
         stem.find_first_not_of("0123456789", dot + 1) == stem.npos;
}

void remove_leftovers(FileSystem& files, const std::string& directory, const auto& writes) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& e : fs::directory_iterator(directory, ignored)) {
    const std::string name = e.path().filename().string();
    if (is_leftover(name) && writes(fs::path(name).stem().stem().string()))
      found.push_back(e.path().string());
  }
  for (const std::string& path : found) files.remove(path);
}

// "gate: sqs there, relu now; seed: 0 there, 1 now"
std::string differences(const Json& there, const Json& now) {
  std::string text;
  const auto walk = [&](const auto& self, const Json& a, const Json& b, const std::string& prefix) -> void {
    for (const auto& [key, value] : b.items()) {
      const Json other = a.is_object() && a.contains(key) ? a[key] : Json();
      if (value.is_object())
        self(self, other, value, prefix + key + ".");
      else if (other != value)
        text += (text.empty() ? "" : "; ") + prefix + key + ": " + other.dump() + " there, " + value.dump() +
                " now";
    }
  };
  walk(walk, there, now, "");
  return text;
}

}  // namespace

RunDirectory::RunDirectory(FileSystem& files, std::string path, const Json& identity, bool force)
    : files_(files), path_(std::move(path)), hash_(sha256_hex(as_bytes(identity.dump()))) {
  std::error_code error;
  const bool existed = fs::exists(path_, error);
  fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_))
    throw Error(
        {.what = "cannot create the run directory: " + (error ? error.message() : "a file has that name"),
         .where = path_,
         .hint = "a place that you may write to (--out)"});
  lock();
  remove_leftovers(files_, path_, is_ours);
  const std::string run = file("run.json");
  if (fs::exists(run)) {
    Json there;
    std::string problem;
    try {
      there = read_json(run);
    } catch (const Error& e) {
      problem = e.parts().what;
    }
    const Json old = there.is_object() && there.contains("identity") ? there["identity"] : Json();
    if (!problem.empty() || old != identity) {
      if (!force)
        throw Error(
            {.code = ErrorCode::usage,
             .what = "the directory holds another run",
             .where = path_,
             .expected = problem.empty() ? differences(old, identity) : "a readable run.json: " + problem,
             .hint = "another --out, or --force to remove that run and start anew"});
      remove_run();
    } else if (force) {
      remove_run();
    } else {
      // Without its weights a run is not finished, whatever it says: the last checkpoint has them.
      const bool finished = there.contains("state") && there["state"] == "finished";
      found_ = finished && fs::exists(file("model.safetensors")) ? Found::finished : Found::unfinished;
    }
  } else if (existed) {
    // A run that was killed in its first moments leaves the lock and an empty folder. Everything else is not
    // ours to write beside, not even with --force: there is no run that it could remove.
    for (const fs::directory_entry& e : fs::directory_iterator(path_)) {
      const std::string name = e.path().filename().string();
      if (name == kLock || (e.is_directory() && e.path() == checkpoints() && fs::is_empty(e.path())))
        continue;
      if (force && is_ours(name)) continue;
      throw Error({.code = ErrorCode::usage,
                   .what = "the directory exists and is no run of glint",
                   .where = e.path().string(),
                   .expected = "a new or empty directory, or one with a run.json",
                   .hint = "another --out"});
    }
    if (force) remove_run();
  }
  fs::create_directories(checkpoints(), error);
  if (error) throw Error({.what = "cannot create a directory: " + error.message(), .where = checkpoints()});
  remove_leftovers(files_, checkpoints(), [](const std::string&) { return true; });
}

RunDirectory::Lock::~Lock() {
  if (fd >= 0) ::close(fd);
}

void RunDirectory::lock() {
  lock_.fd = ::open(file(kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_.fd < 0)
    throw Error({.what = std::string("cannot write to the run directory: ") + std::strerror(errno),
                 .where = path_,
                 .hint = "a directory that you may write to (--out)"});
  if (::flock(lock_.fd, LOCK_EX | LOCK_NB) != 0)
    throw Error({.what = "another process is training in this directory",
                 .where = path_,
                 .hint = "wait for it, stop it, or another --out"});
}

void RunDirectory::remove_run() {
  for (const char* name : kFiles) files_.remove(file(name));
  std::error_code ignored;
  for (const char* name : kFolders) fs::remove_all(file(name), ignored);
}

void RunDirectory::write_run(const Json& run) { write_atomic(files_, file("run.json"), run.dump(2) + "\n"); }

void RunDirectory::keep_metrics(uint64_t step) {
  metrics_.reset();
  std::string kept;
  if (fs::exists(file("metrics.jsonl"))) {
    const std::string text = read_file(file("metrics.jsonl"));
    scan_json_lines(text, file("metrics.jsonl"), [&](Json line, size_t) {
      if (JsonFields(line, file("metrics.jsonl")).required<uint64_t>("step") <= step)
        kept += line.dump() + "\n";
    });
  }
  write_atomic(files_, file("metrics.jsonl"), kept);
  metrics_ = files_.append(file("metrics.jsonl"));
}

void RunDirectory::add_metrics(const Json& line) { metrics_->write(as_bytes(line.dump() + "\n")); }

void RunDirectory::sync_metrics() { metrics_->sync(); }

std::vector<Json> read_metrics(const std::string& run_directory) {
  const std::string path = run_directory + "/metrics.jsonl";
  std::vector<Json> lines = read_json_lines(path).lines;
  for (const Json& line : lines) {
    const JsonFields fields(line, path);
    fields.required<uint64_t>("step");
    for (const char* key : {"train_loss", "train_accuracy", "test_loss", "test_accuracy", "lr", "seconds"})
      fields.optional<double>(key, 0);
  }
  return lines;
}

}  // namespace glint
