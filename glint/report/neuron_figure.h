// The neurons of a model: per layer how many are of each class, with the middle and the spread of cos(up,
// down); and all neurons of one layer as points.
#pragma once

#include <string>
#include <vector>

#include "glint/report/chart.h"
#include "glint/report/signed_picture.h"

namespace glint {

struct NeuronBar {
  std::string label;                     // of the layer
  std::vector<size_t> counts;            // of every class
  double low = 0, median = 0, high = 0;  // of cos(up, down): 10 %, the middle, 90 %
};

struct NeuronPlot {
  std::string title;
  std::string note = {};             // a line below
  std::vector<std::string> classes;  // names, in the order of the bars from the bottom up
  std::vector<NeuronBar> layers;
};
// The CSV has a line per layer: its label, the counts, then the three numbers.
Figure neuron_figure(const NeuronPlot& plot);

struct NeuronPoint {
  double up_down = 0, gate_down = 0;
  size_t kind = 0;  // of the classes
};
// Where a layer has more than kMostPoints neurons, every n-th is drawn, and the title says so.
inline constexpr size_t kMostPoints = 4000;
Chart neuron_scatter(const std::string& title, const std::vector<std::string>& classes,
                     const std::vector<NeuronPoint>& points, double threshold);

}  // namespace glint
