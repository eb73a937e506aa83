#include "glint/lab/work/result_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/io/svg_png.h"

namespace glint {
namespace {

void write_one(const Engine& engine, const std::string& stem, const Figure& figure, const SvgPng& picture) {
  write_atomic(engine.files(), stem + ".svg", figure.svg);
  write_atomic(engine.files(), stem + ".csv", figure.csv);
  if (!picture.png.empty()) {
    write_atomic(engine.files(), stem + ".png", picture.png);
    return;
  }
  static std::atomic<bool> said{false};  // about the machine, so once per process
  if (!said.exchange(true)) engine.note("no PNG figures, only SVG and CSV: " + picture.problem);
}

namespace fs = std::filesystem;

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

void make_directory(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed)
    throw Error({.what = "cannot make the folder: " + failed.message(),
                 .where = path,
                 .expected = "a folder that can be written",
                 .hint = "another folder"});
  remove_leftover_results(path);
}

std::string result_folder(const std::string& out, const std::string& run) {
  const std::string folder = out.empty() ? run : out;
  make_directory(folder);
  return folder;
}

void remove_leftover_results(const std::string& folder) {
  remove_leftovers(real_files(), folder, [](const std::string& name) {
    const auto ends = [&](const char* with) { return name.ends_with(with); };
    return name.starts_with("piece-") ||
           std::ranges::any_of(std::array{".csv", ".svg", ".png", ".json", ".html", ".safetensors"}, ends);
  });
}

void write_figure(const Engine& engine, const std::string& stem, const Figure& figure) {
  write_one(engine, stem, figure, svg_to_png(figure.svg));
}

void write_figures(const Engine& engine, const std::vector<FigureFile>& figures) {
  std::vector<SvgPng> pictures(figures.size());
  engine.pool().for_tiles(figures.size(), [&](size_t i, size_t) { pictures[i] = svg_to_png(figures[i].figure.svg); });
  for (size_t i = 0; i < figures.size(); i++) write_one(engine, figures[i].stem, figures[i].figure, pictures[i]);
}

std::string figures_directory(const std::string& directory) {
  const std::string path = directory + "/figures";
  make_directory(directory);
  make_own_folder(path);
  remove_leftover_results(path);
  return path;
}

ExportFolder::ExportFolder(FileSystem& files, std::string path, std::string marker, bool force)
    : files_(files), path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  std::error_code failed;
  if (fs::exists(fs::symlink_status(path_, failed))) {
    const bool folder = fs::is_directory(fs::symlink_status(path_, failed));
    const bool empty = folder && fs::is_empty(path_, failed);
    const bool earlier = folder && !empty && fs::exists(path_ + "/" + marker, failed);
    if (!empty && !(earlier && force))
      bad_argument(path_,
                   earlier  ? "the folder holds an earlier export"
                   : folder ? "the folder holds other files"
                            : "not a folder",
                   "a new or empty folder", earlier ? "`force=true` replaces it" : "another name");
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
