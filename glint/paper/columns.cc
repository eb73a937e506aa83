#include "glint/paper/columns.h"

#include <sstream>

#include "glint/base/statistics.h"

namespace glint {
namespace {

// What stands in column `c` of the last row, or above it where that cell repeats.
std::string_view above(const ReportTable& table, size_t c) {
  for (size_t r = table.rows.size(); r-- > 0;)
    if (!table.rows[r].cells[c].text.empty()) return table.rows[r].cells[c].text;
  return {};
}

}  // namespace

std::vector<ReportTable::Head> heads(const std::vector<std::string>& names, size_t words) {
  std::vector<ReportTable::Head> out;
  for (const std::string& name : names)
    out.push_back({.text = name, .align = out.size() < words ? Align::left : Align::right});
  return out;
}

Table data_table(std::string_view names) {
  std::vector<Column> columns;
  std::istringstream words{std::string(names)};
  for (std::string name; words >> name;) {
    const bool spread = name.ends_with('+');
    const std::string key = name.substr(0, name.size() - (spread ? 1 : 0));
    columns.push_back({.header = key});
    if (spread) columns.push_back({.header = key + "_sd"});
  }
  return Table(std::move(columns));
}

void add_row(ReportTable& table, size_t blocks, std::vector<Cell> cells) {
  bool first = table.rows.empty();
  for (size_t c = 0; c < blocks; c++) {
    first = first || cells[c].text != above(table, c);
    if (!first) cells[c].text.clear();
  }
  table.rows.push_back({std::move(cells), first});
}

std::string spread_text(const std::vector<double>& v, double scale, int decimals, const std::string& none) {
  if (v.empty()) return none;
  const MeanAndSd m = mean_and_sd(v);
  return fixed_text(scale * m.mean, decimals) + (v.size() > 1 ? " \xc2\xb1 " + fixed_text(scale * m.sd, decimals) : "");
}

void add_spread(std::vector<std::string>& line, const std::vector<double>& v) {
  const MeanAndSd m = mean_and_sd(v);
  line.push_back(v.empty() ? "" : number_text(m.mean));
  line.push_back(v.size() > 1 ? number_text(m.sd) : "");
}

}  // namespace glint
