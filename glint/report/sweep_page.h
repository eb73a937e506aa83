// The page of a sweep: what to choose, loss against readability with a link from every point, the table of
// all settings, and for each setting what its weights look like. One file without scripts that needs no
// network.
#pragma once

#include <string>
#include <vector>

namespace glint {

struct SweepPageSetting {
  std::string id;                                          // "setting-3": what points and rows link to
  std::string name;                                        // "sqs, lambda 0.1, norm rms"
  std::vector<std::pair<std::string, std::string>> facts;  // "test loss", "0.424 ± 0.002"
  std::string pictures = {};                               // SVG of its eigenvectors; "": there are none
  std::string files = {};                                  // where its runs lie
};

struct SweepPage {
  std::string title, lead;             // the answer: which setting to choose
  std::vector<std::string> facts;      // version, recipe, seeds: one line
  std::string chart;                   // SVG
  std::vector<std::string> heat_maps;  // SVG, there may be none
  std::vector<std::string> heads;      // of the table, the first column names the setting
  struct Row {
    std::string id;
    std::vector<std::string> cells;
    bool front = false, chosen = false;
  };
  std::vector<Row> rows;
  std::string caption;                     // of the table
  std::vector<SweepPageSetting> settings;  // the first is shown until another is chosen
};

std::string sweep_html(const SweepPage& page);

}  // namespace glint
