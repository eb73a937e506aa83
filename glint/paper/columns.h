// What the tables of the report are made of. A table is there twice: for people, and in long form for files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/report/report_page.h"

namespace glint {

// The first `words` heads are over words, the others over numbers.
std::vector<ReportTable::Head> heads(const std::vector<std::string>& names, size_t words);
// A table for files from names with spaces between; "loss+" stands for two columns, loss and loss_sd.
Table data_table(std::string_view names);
// Adds a row. The first `blocks` cells name blocks of rows: they stay empty where they repeat those above.
void add_row(ReportTable& table, size_t blocks, std::vector<Cell> cells);

// One value per seed: "97.86 ± 0.06"; `none` where there are no values.
std::string spread_text(const std::vector<double>& values, double scale, int decimals, const std::string& none = {});
// The same for files: mean and standard deviation.
void add_spread(std::vector<std::string>& line, const std::vector<double>& values);

// A column of values by seed, for both tables.
template <class T>
struct SpreadColumn {
  std::string_view key;            // in files, beside KEY_sd
  std::vector<double> T::*values;  // one per seed
  size_t place = 0;                // for people, behind the keys, from 1 on; 0: in files alone
  std::string_view head = {};
  double scale = 1;
  int decimals = 3;
};

// A table of such columns. `keys`: the heads before them, of which the first `words` are over words;
// `file_keys`: the same for files.
template <class T>
ReportTable spread_table(std::string name, std::string caption, std::vector<std::string> keys, size_t words,
                         std::string file_keys, std::span<const SpreadColumn<T>> columns) {
  const size_t first = keys.size();
  for (const SpreadColumn<T>& c : columns) {
    file_keys += " " + std::string(c.key) + "+";
    if (c.place == 0) continue;
    keys.resize(std::max(keys.size(), first + c.place));
    keys[first + c.place - 1] = c.head;
  }
  return {.name = std::move(name),
          .caption = std::move(caption),
          .heads = heads(keys, words),
          .keys = words,
          .data = data_table(file_keys)};
}

template <class T>
void add_spreads(ReportTable& table, size_t blocks, std::vector<Cell> cells, std::vector<std::string> line,
                 const T& item, std::span<const SpreadColumn<T>> columns) {
  const size_t first = cells.size();
  cells.resize(table.heads.size());
  for (const SpreadColumn<T>& c : columns) {
    add_spread(line, item.*c.values);
    if (c.place) cells[first + c.place - 1].text = spread_text(item.*c.values, c.scale, c.decimals);
  }
  add_row(table, blocks, std::move(cells));
  table.data.add(std::move(line));
}

}  // namespace glint
