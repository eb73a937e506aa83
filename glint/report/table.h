// The one writer of tables: cells are strings, and a table becomes terminal text, Markdown, CSV or JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glint/base/text.h"

namespace glint {

struct Column {
  std::string header;
  Align align = Align::left;
  std::string key = {};  // name in CSV and JSON; the header when empty
  bool text = false;     // JSON: a string even where the cell reads as a number
  size_t max_width = 0;  // terminal: longer cells are wrapped at spaces; 0: only when the table is too wide
};

// Columns by their headers: words, numbers behind them, and words behind those.
std::vector<Column> headers(const std::vector<std::string>& words, const std::vector<std::string>& numbers,
                            const std::vector<std::string>& last = {});

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // A row with fewer cells is filled up with empty ones; one with more is a mistake of the caller.
  void add(std::vector<std::string> cells);

  size_t rows() const { return rows_.size(); }

  // For a terminal of `width` columns: columns aligned two spaces apart, a rule below the headers, no
  // trailing spaces. A table that is too wide breaks its headers and its left-aligned cells at spaces; what
  // still does not fit follows below with the first column beside it.
  std::string terminal(size_t width) const;
  std::string terminal() const;  // 80 columns
  // GitHub's pipes, padded so that the source is readable too.
  std::string markdown() const;
  // RFC 4180, but with line feeds alone, as the tools of this system write it.
  std::string csv() const;
  // An array with one object per row. A cell that is a JSON number is written as that number, digit by digit,
  // and true and false as such; "nan", "inf" and "-inf" and an empty cell become null (in a `text` column all
  // stay strings).
  std::string json() const;

 private:
  size_t narrowest(size_t column) const;
  std::string block(const std::vector<size_t>& shown, const std::vector<size_t>& least, size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace glint
