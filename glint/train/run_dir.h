// A run directory: who may write to it, what it holds, and whether a run in it is new, to be resumed, or
// finished.
//   run.json  metrics.jsonl  config.json  model.safetensors  checkpoints/
#pragma once

#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/train/run_file.h"

namespace glint {

// Whether a process is training in the directory now.
bool is_training(const std::string& directory);

class RunDirectory {
 public:
  enum class Found { fresh, unfinished, finished };

  // Creates or takes the directory and locks it until destruction. `identity` is what makes two runs the same
  // (options and data); an option that a run of an earlier version does not name has its default there. Error
  // when another process trains in it, when it holds another run or other files;
  // with `force` such a run is removed first (only the files that glint writes). What a killed process left
  // half written is removed, and so is what is damaged and can be made anew by the verbs that read.
  // An empty path is a run in memory: it is new, and nothing is ever written.
  RunDirectory(FileSystem& files, std::string path, const Json& identity, bool force);

  bool in_memory() const { return path_.empty(); }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  Found found() const { return found_; }
  // As the run was begun with: what run.json says, and what its checkpoints know it by.
  const Json& identity() const { return identity_; }
  const std::string& identity_hash() const { return hash_; }
  // run.json as it was found; null when it was not there or cannot be trusted.
  const Json& run() const { return run_; }
  // What was damaged, missing or in the way, for the user.
  const std::vector<std::string>& notes() const { return notes_; }

  void write_run(const Json& run);  // run.json
  // A second run.json for an end at which nothing can be written: to rename it takes no room on the disk.
  void prepare_end(const Json& run);
  void end_as_prepared();
  void discard_prepared();

  // Metrics: keeps the whole lines up to `step`, then appends. A line is whole or absent after a crash.
  void keep_metrics(uint64_t step);
  void add_metrics(const Json& line);
  void sync_metrics();

 private:
  void lock();
  void judge(const Json& identity, bool force);
  void adopt(const Json& identity);
  void refuse_other_files(bool force) const;
  void remove_run();
  void remove_damaged_readings();

  FileSystem& files_;
  std::string path_, hash_;
  Json identity_;
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
  Json run_;
  std::vector<std::string> notes_;
  std::unique_ptr<WritableFile> metrics_;
};

}  // namespace glint
