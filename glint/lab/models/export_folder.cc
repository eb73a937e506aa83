#include "glint/lab/models/export_folder.h"

#include <unistd.h>

#include <filesystem>

#include "glint/base/error.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

ExportFolder::ExportFolder(FileSystem& files, std::string path, std::string marker, bool force)
    : files_(files), path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  std::error_code failed;
  if (fs::exists(fs::symlink_status(path_, failed))) {
    const bool folder = fs::is_directory(fs::symlink_status(path_, failed));
    const bool empty = folder && fs::is_empty(path_, failed);
    const bool earlier = folder && !empty && fs::exists(path_ + "/" + marker, failed);
    if (!empty && !(earlier && force))
      throw Error({.code = ErrorCode::usage,
                   .what = earlier  ? "the folder holds an earlier export"
                           : folder ? "the folder holds other files"
                                    : "not a folder",
                   .where = path_,
                   .expected = "a new or empty folder",
                   .hint = earlier ? "`force=true` replaces it" : "another name"});
    replaces_ = !empty;
  }
  const fs::path parent = parent_of(path_);
  fs::create_directories(parent, failed);
  temporary_ = path_ + ".partial-" + std::to_string(::getpid());
  fs::remove_all(temporary_, failed);
  if (!fs::create_directory(temporary_, failed))
    throw Error({.what = "cannot make the folder: " + failed.message(),
                 .where = temporary_,
                 .expected = "a folder that can be written"});
}

ExportFolder::~ExportFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void ExportFolder::commit() {
  const std::string old = path_ + ".old-" + std::to_string(::getpid());
  if (replaces_) files_.rename(path_, old);
  try {
    files_.rename(temporary_, path_);
  } catch (...) {
    if (replaces_) files_.rename(old, path_);
    throw;
  }
  temporary_.clear();
  files_.sync_directory(parent_of(path_));
  std::error_code ignored;
  if (replaces_) fs::remove_all(old, ignored);
}

}  // namespace glint
