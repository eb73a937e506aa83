// The files of a figure: STEM.svg, STEM.csv with its numbers, STEM.png.
#pragma once

#include <string>
#include <vector>

#include "glint/lab/engine.h"
#include "glint/report/figure.h"

namespace glint {

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

}  // namespace glint
