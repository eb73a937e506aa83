// A folder that appears whole or not at all: files go into a temporary one beside it, which is renamed.
#pragma once

#include <string>

#include "glint/base/file.h"

namespace glint {

class ExportFolder {
 public:
  // Error (usage) when `path` holds anything, but with `force` an earlier export, known by the file `marker`,
  // is replaced.
  ExportFolder(FileSystem& files, std::string path, std::string marker, bool force);
  ~ExportFolder();  // removes what was not committed
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;

  std::string file(const std::string& name) const { return temporary_ + "/" + name; }
  void commit();

 private:
  FileSystem& files_;
  std::string path_, temporary_;
  bool replaces_ = false;
};

}  // namespace glint
