// Figures of neurons: bars are as high as the shares they stand for, and the CSV has the counts.
#include "glint/report/neuron_figure.h"

#include <gtest/gtest.h>

namespace glint {
namespace {

NeuronPlot example_plot() {
  return {.title = "Neurons <of> a model",
          .note = "a note",
          .classes = {"a", "b"},
          .layers = {{.label = "1", .counts = {1, 3}, .low = -0.5, .median = 0, .high = 0.25},
                     {.label = "2", .counts = {4, 0}, .low = 0, .median = 0.5, .high = 1}}};
}

TEST(NeuronFigure, BarsAreTheShares) {
  const Figure f = neuron_figure(example_plot());
  EXPECT_NE(f.svg.find("Neurons &lt;of&gt; a model"), f.svg.npos);
  // 200 units are 100 %: a quarter, three quarters, all; an empty class has no bar.
  for (const char* height : {"height=\"50\"", "height=\"150\"", "height=\"200\""})
    EXPECT_NE(f.svg.find(height), f.svg.npos) << height;
  EXPECT_EQ(f.svg.find("height=\"0\""), f.svg.npos);
  EXPECT_EQ(f.csv, "layer,a,b,low,median,high\n1,1,3,-0.5,0,0.25\n2,4,0,0,0.5,1\n");
}

TEST(NeuronFigure, ManyPointsAreThinned) {
  std::vector<NeuronPoint> points(2 * kMostPoints + 1, {0.1, 0.2, 0});
  const Chart chart = neuron_scatter("title", {"a", "b"}, points, 0.5);
  ASSERT_EQ(chart.series.size(), 5u);  // one class that has neurons, four borders
  EXPECT_EQ(chart.series[0].points.size(), (points.size() + 2) / 3);
  EXPECT_NE(chart.title.find("one in 3"), chart.title.npos) << chart.title;
  points.resize(10);
  EXPECT_EQ(neuron_scatter("title", {"a"}, points, 0.5).title, "title");
}

}  // namespace
}  // namespace glint
