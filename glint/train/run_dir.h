// A run directory: who may write to it, what it holds, and whether a run in it is new, to be resumed, or
// finished.
//   run.json  metrics.jsonl  config.json  model.safetensors  checkpoints/
#pragma once

#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/io/json.h"

namespace glint {

class RunDirectory {
 public:
  enum class Found { fresh, unfinished, finished };

  // Creates or takes the directory and locks it until destruction. `identity` is what makes two runs the same
  // (options and data). Error when another process trains in it, when it holds another run or other files;
  // with `force` such a run is removed first (only the files that glint writes). What a killed process left
  // half written is removed.
  RunDirectory(FileSystem& files, std::string path, const Json& identity, bool force);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  Found found() const { return found_; }
  const std::string& identity_hash() const { return hash_; }

  void write_run(const Json& run);  // run.json

  // Metrics: keeps the lines up to `step`, then appends. A line is whole or absent after a crash.
  void keep_metrics(uint64_t step);
  void add_metrics(const Json& line);
  void sync_metrics();

 private:
  void lock();
  void remove_run();

  FileSystem& files_;
  std::string path_, hash_;
  // Released also when the constructor throws.
  struct Lock {
    int fd = -1;
    Lock() = default;
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
  };
  Lock lock_;
  Found found_ = Found::fresh;
  std::unique_ptr<WritableFile> metrics_;
};

// All lines of a run's metrics; a line that a crash cut is left out. Error (bad_file) when a field has
// another type than the trainer writes.
std::vector<Json> read_metrics(const std::string& run_directory);

}  // namespace glint
