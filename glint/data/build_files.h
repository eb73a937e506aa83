// The files around the build of a corpus: texts that can be read only once, and the folder that is made for
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/base/file.h"

namespace glint {

// True for "-" (stdin), pipes and devices.
bool reads_once(const std::string& path);

// Error (bad_file, or failure without permission) for a text that cannot be opened and for a device, Error
// (usage) when stdin is named twice. Pipes are not opened: that would wait for a writer, or take its bytes.
void check_readable(const std::vector<std::string>& paths);

// The name of a copy, for temporary_name.
inline constexpr const char* kSpooled = "text";

// Copies of what can be read once, for a build that reads twice. The copies go away with it.
class Spool {
 public:
  Spool(FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Puts the copy in place of every such path; `each` is called with the bytes so far, also while a pipe has
  // nothing to give. Error (bad_file) as soon as a story is too long, so that no endless stream fills the
  // disk.
  void take(std::vector<std::string>& paths, const std::function<void(uint64_t bytes)>& each);

 private:
  FileSystem& files_;
  std::string folder_;
  std::vector<std::string> copies_;
  std::vector<std::unique_ptr<WritableFile>> held_;  // so that no other process removes them
};

// Makes a folder and its parents. Those that it made and that are empty go away again unless they are kept.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path);
  ~NewFolder() { discard(); }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  void keep() { made_.clear(); }

 private:
  void discard();
  std::vector<std::filesystem::path> made_;  // the innermost first
};

}  // namespace glint
