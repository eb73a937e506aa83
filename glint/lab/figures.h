// The files of a figure: STEM.svg, STEM.csv with its numbers, STEM.png.
#pragma once

#include <string>
#include <vector>

#include "glint/lab/engine.h"

namespace glint {

struct FigureFile {
  std::string stem;  // path without the ending
  std::string svg, csv;
};

// Each file atomically. Where no PNG can be made (librsvg is not installed) a note says so once and the rest
// is written.
void write_figure(const Engine& engine, const std::string& stem, const std::string& svg,
                  const std::string& csv, bool png = true);
// The same for several, drawn side by side.
void write_figures(const Engine& engine, const std::vector<FigureFile>& figures, bool png = true);

// DIR/figures, made when it is not there.
std::string figures_directory(const std::string& directory);

}  // namespace glint
