// Figure 2B of the paper: how alike the eigenvectors of two models are, against their rank.
#pragma once

#include <string>
#include <vector>

#include "glint/report/chart.h"

namespace glint {

struct SimilarityLine {
  std::string name;
  std::vector<double> mean, spread;  // element r belongs to rank r + 1; spread empty: no band
  std::vector<double> control;       // the same for the control: dashed, in the same colour
};

// `over`: what the spread is one of, for instance "pairs"; empty where no line has a spread or a caption says
// it.
Chart similarity_figure(const std::string& title, const std::vector<SimilarityLine>& lines,
                        const std::string& over = "");

}  // namespace glint
