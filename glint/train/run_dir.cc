#include "glint/train/run_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/io/seal.h"
#include "glint/train/checkpoint.h"
#include "glint/train/options.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".lock";
constexpr const char* kPrepared = ".run.json.failed";
// What glint writes into a run directory; --force removes these and nothing else.
constexpr const char* kFiles[] = {kRunFile,        kMetricsFile,      "config.json",
                                  kWeightsFile,    "tokenizer.model", "calibration.safetensors",
                                  "explorer.html", kPrepared};
constexpr const char* kFolders[] = {"checkpoints", "figures"};

bool is_spectra(const std::string& name) { return name.starts_with("spectra") && name.ends_with(".safetensors"); }

bool is_our_file(const std::string& name) {
  const auto is = [&](const char* other) { return name == other; };
  return std::any_of(std::begin(kFiles), std::end(kFiles), is) || is_spectra(name) ||
         (name.starts_with("scan-layer-") && name.ends_with(".csv"));
}

bool is_ours(const std::string& name) {
  const auto is = [&](const char* other) { return name == other; };
  return is(kLock) || is_our_file(name) || std::any_of(std::begin(kFolders), std::end(kFolders), is);
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& e : fs::directory_iterator(directory, ignored))
    names.push_back(e.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_real_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(path, ignored));
}

// An option that a run does not name was not there when it was trained: it has its default, so that runs go
// on when glint has got new options.
Json with_defaults(Json identity) {
  if (!identity.is_object() || !identity.contains("options") || !identity["options"].is_object()) return identity;
  TrainOptions standard;
  standard.text = identity["options"].contains("context");
  const Json defaults = options_to_json(standard);
  for (const auto& [name, value] : defaults.items())
    if (!identity["options"].contains(name)) identity["options"][name] = value;
  return identity;
}

bool same_run(const Json& a, const Json& b) { return with_defaults(a) == with_defaults(b); }

// "gate: sqs there, relu now; seed: 0 there, 1 now"
std::string differences(const Json& there, const Json& now) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& a, const std::string& b) {
    text += (text.empty() ? "" : "; ") + name + ": " + a + " there, " + b + " now";
  };
  const auto walk = [&](const auto& self, const Json& a, const Json& b, const std::string& prefix) -> void {
    for (const auto& [key, value] : b.items()) {
      const Json other = a.is_object() && a.contains(key) ? a[key] : Json();
      if (value.is_object())
        self(self, other, value, prefix + key + ".");
      else if (other != value)
        add(prefix + key, other.dump(), value.dump());
    }
    if (!a.is_object()) return;
    for (const auto& [key, value] : a.items())
      if (!b.contains(key)) add(prefix + key, value.dump(), "unknown");
  };
  walk(walk, there, now, "");
  return text;
}

}  // namespace

bool is_training(const std::string& directory) {
  const int fd = ::open((directory + "/" + kLock).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const bool held = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return held;
}

RunDirectory::RunDirectory(FileSystem& files, std::string path, const Json& identity, bool force)
    : files_(files), path_(std::move(path)) {
  adopt(identity);
  if (in_memory()) return;
  std::error_code error, ignored;
  const bool existed = exists(path_);
  fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_, ignored))
    throw Error({.what = "cannot create the run directory: " + (error ? error.message() : "a file has that name"),
                 .where = path_,
                 .hint = "a place that you may write to"});
  lock();
  remove_leftovers(files_, path_, is_ours);
  if (fs::exists(fs::symlink_status(file(kRunFile), ignored)))
    judge(identity, force);
  else if (existed)
    refuse_other_files(force);
  if (force) remove_run();
  make_own_folder(checkpoints());
  remove_leftovers(files_, checkpoints(), [](const std::string&) { return true; });
  for (const std::string& note : clear_checkpoint_names(files_, checkpoints())) notes_.push_back(note);
  if (is_real_directory(file("figures")))
    remove_leftovers(files_, file("figures"), [](const std::string& name) {
      return name.ends_with(".svg") || name.ends_with(".png") || name.ends_with(".csv");
    });
  remove_damaged_readings();
}

void RunDirectory::adopt(const Json& identity) {
  identity_ = identity;
  hash_ = sha256_hex(as_bytes(identity.dump()));
}

// Whether the run that is there is this one, and how far it is.
void RunDirectory::judge(const Json& identity, bool force) {
  if (force) return;
  const std::string path = file(kRunFile);
  RunFile there;
  std::string problem;
  try {
    there = read_run_file(path_);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_file) throw;
    problem = e.parts().what;
  }
  if (!problem.empty()) {
    // It is this run when what is left of the file, or a checkpoint, says so.
    Json rest;
    try {
      rest = read_json(path);
    } catch (const Error&) {
    }
    const bool same = rest.is_object() && rest.contains("identity") && same_run(rest["identity"], identity);
    if (same) adopt(rest["identity"]);
    if (!same && !(is_real_directory(checkpoints()) && has_checkpoint_of(checkpoints(), hash_)))
      throw Error({.code = ErrorCode::bad_file,
                   .what = "run.json is damaged, and nothing else says that this is the same run: " + problem,
                   .where = path,
                   .expected = "run.json as glint wrote it, or a checkpoint of the run",
                   .hint = "put a copy of run.json back, or choose another directory"});
    notes_.push_back(path + " is damaged (" + problem + "); it is written anew");
    found_ = Found::unfinished;
    return;
  }
  if (!same_run(there.json["identity"], identity))
    throw Error({.code = ErrorCode::usage,
                 .what = "the directory holds another run",
                 .where = path_,
                 .expected = differences(with_defaults(there.json["identity"]), with_defaults(identity)),
                 .hint = "another directory, or `force` to remove that run and start anew"});
  adopt(there.json["identity"]);
  run_ = there.json;
  found_ = Found::unfinished;
  if (!there.finished()) return;
  // Without its weights a run is not finished, whatever it says: the last checkpoint has them.
  const std::string wrong = damage(path_, run_, kWeightsFile);
  if (wrong.empty())
    found_ = Found::finished;
  else
    notes_.push_back(file(kWeightsFile) + " " + wrong + "; it is written anew");
}

// A run that was killed in its first moments leaves the lock and an empty folder. Everything else is not ours
// to write beside, not even with --force: there is no run that it could remove.
void RunDirectory::refuse_other_files(bool force) const {
  std::error_code ignored;
  for (const std::string& name : names_in(path_)) {
    if (name == kLock ||
        (file(name) == checkpoints() && is_real_directory(file(name)) && fs::is_empty(file(name), ignored)))
      continue;
    if (force && is_ours(name)) continue;
    throw Error({.code = ErrorCode::usage,
                 .what = "the directory exists and is no run of glint",
                 .where = file(name),
                 .expected = "a new or empty directory, or one with a run.json",
                 .hint = "another directory"});
  }
}

// Calibration and spectra are made anew by the verbs that need them; damaged they only stand in the way.
void RunDirectory::remove_damaged_readings() {
  for (const std::string& name : names_in(path_)) {
    if (name != "calibration.safetensors" && !is_spectra(name)) continue;
    const std::string wrong = damage(file(name));
    if (wrong.empty()) continue;
    files_.remove(file(name));
    notes_.push_back(file(name) + " " + wrong + "; it was removed and can be made anew");
  }
}

RunDirectory::Lock::~Lock() {
  if (fd >= 0) ::close(fd);
}

void RunDirectory::lock() {
  lock_.fd = ::open(file(kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (lock_.fd < 0)
    throw Error({.what = std::string("cannot write to the run directory: ") + std::strerror(errno),
                 .where = errno == ELOOP ? file(kLock) : path_,
                 .hint = "a directory that you may write to"});
  // Who asks is_training() holds it for a moment.
  bool locked = ::flock(lock_.fd, LOCK_EX | LOCK_NB) == 0;
  for (int i = 0; i < 5 && !locked; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    locked = ::flock(lock_.fd, LOCK_EX | LOCK_NB) == 0;
  }
  if (!locked)
    throw Error({.what = "another process is training in this directory",
                 .where = path_,
                 .hint = "wait for it, stop it, or choose another directory"});
}

void RunDirectory::remove_run() {
  found_ = Found::fresh;
  run_ = Json();
  for (const std::string& name : names_in(path_))
    if (is_our_file(name)) files_.remove(file(name));
  std::error_code error;
  for (const char* name : kFolders) {
    fs::remove_all(file(name), error);  // of a link only the link
    if (error) throw Error({.what = "cannot remove: " + error.message(), .where = file(name)});
  }
}

void RunDirectory::write_run(const Json& run) { write_atomic(files_, file(kRunFile), sealed_text(run, 2) + "\n"); }

void RunDirectory::prepare_end(const Json& run) { write_atomic(files_, file(kPrepared), sealed_text(run, 2) + "\n"); }

void RunDirectory::end_as_prepared() { files_.rename(file(kPrepared), file(kRunFile)); }

void RunDirectory::discard_prepared() {
  if (!in_memory()) files_.remove(file(kPrepared));
}

void RunDirectory::keep_metrics(uint64_t step) {
  metrics_.reset();
  const Metrics found = scan_metrics(path_);
  if (found.damaged > 0)
    notes_.push_back(
        file(kMetricsFile) + " is damaged (" + found.first_damaged + "); " +
        (found.damaged == 1 ? "the line is left out" : std::to_string(found.damaged) + " lines are left out"));
  std::string kept;
  for (const Json& line : found.lines)
    if (line["step"].get<uint64_t>() <= step) kept += metrics_line(line);
  write_atomic(files_, file(kMetricsFile), kept);
  metrics_ = files_.append(file(kMetricsFile));
}

void RunDirectory::add_metrics(const Json& line) {
  if (!in_memory()) metrics_->write(as_bytes(metrics_line(line)));
}

void RunDirectory::sync_metrics() { metrics_->sync(); }

}  // namespace glint
