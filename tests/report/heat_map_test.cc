// Heat maps: every number is in its cell, the better the darker, and what was not measured is no number.
#include "glint/report/heat_map.h"

#include <gtest/gtest.h>

#include <limits>

namespace glint {
namespace {

HeatMaps example() {
  HeatMaps figure{.title = "lambda and norm",
                  .note = "Darker is better.",
                  .row_option = "lambda",
                  .column_option = "norm",
                  .rows = {"0", "<1>"},
                  .columns = {"none", "rms"},
                  .maps = {}};
  HeatMap map{.title = "test loss", .values = Matrix<double>(2, 2), .decimals = 2, .lower_is_better = true};
  map.values(0, 0) = 0.5, map.values(0, 1) = 0.25, map.values(1, 0) = 1.0;
  map.values(1, 1) = std::numeric_limits<double>::quiet_NaN();
  figure.maps.push_back(std::move(map));
  return figure;
}

// The fill of the cell before the text.
std::string fill_before(const std::string& svg, const std::string& text) {
  const size_t cell = svg.rfind("<rect", svg.find(">" + text + "<"));
  const size_t fill = svg.find("fill=\"", cell) + 6;
  return svg.substr(fill, 7);
}

TEST(HeatMap, EveryNumberIsInItsCellTheBetterTheDarker) {
  const Figure f = heat_maps(example());
  for (const char* text : {">0.50<", ">0.25<", ">1.00<", ">\u2013<", ">norm rms<", ">&lt;1&gt;<", ">test loss<"})
    EXPECT_NE(f.svg.find(text), f.svg.npos) << text;
  const auto brightness = [&](const char* text) {
    return std::stoi(fill_before(f.svg, text).substr(1, 2), nullptr, 16);
  };
  EXPECT_LT(brightness("0.25"), brightness("0.50"));
  EXPECT_LT(brightness("0.50"), brightness("1.00"));
  EXPECT_LT(brightness("1.00"), 255);  // the worst is still a cell
}

TEST(HeatMap, CsvHasTheSameNumbers) {
  EXPECT_EQ(heat_maps(example()).csv,
            "lambda,norm,measure,value\n0,none,test loss,0.5\n0,rms,test loss,0.25\n<1>,none,test loss,1\n"
            "<1>,rms,test loss,\n");
}

}  // namespace
}  // namespace glint
