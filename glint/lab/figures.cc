#include "glint/lab/figures.h"

#include <atomic>

#include "glint/io/svg_png.h"
#include "glint/lab/run_checks.h"

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

}  // namespace

void write_figure(const Engine& engine, const std::string& stem, const Figure& figure) {
  write_one(engine, stem, figure, svg_to_png(figure.svg));
}

void write_figures(const Engine& engine, const std::vector<FigureFile>& figures) {
  std::vector<SvgPng> pictures(figures.size());
  engine.pool().for_tiles(figures.size(),
                          [&](size_t i, size_t) { pictures[i] = svg_to_png(figures[i].figure.svg); });
  for (size_t i = 0; i < figures.size(); i++)
    write_one(engine, figures[i].stem, figures[i].figure, pictures[i]);
}

std::string figures_directory(const std::string& directory) {
  const std::string path = directory + "/figures";
  make_directory(directory);
  make_own_folder(path);
  remove_leftover_results(path);
  return path;
}

}  // namespace glint
