// Folders of results, and the files of a figure: STEM.svg, STEM.csv with its numbers, STEM.png.
#pragma once

#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/lab/work/engine.h"
#include "glint/report/figure.h"

namespace glint {

// A folder for results, with those above it, without leftovers. Error (failure) when it cannot be made, or a
// file has its name.
void make_directory(const std::string& path);
// The folder that results go to, made when it is not there: `out`, or where that is "" the run.
std::string result_folder(const std::string& out, const std::string& run);
// What processes that were killed left of results.
void remove_leftover_results(const std::string& folder);

struct FigureFile {
  std::string stem;  // path without the ending
  Figure figure;
};

// Each file atomically. Where no PNG can be made (librsvg is not installed) a note says so once and the rest
// is written.
void write_figure(const Engine& engine, const std::string& stem, const Figure& figure);
// The same for several, drawn side by side.
void write_figures(const Engine& engine, const std::vector<FigureFile>& figures);

// DIR/figures, made when it is not there.
std::string figures_directory(const std::string& directory);

// A folder that appears whole or not at all: files go into a temporary one beside it, which is renamed.
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
