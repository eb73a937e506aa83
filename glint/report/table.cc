#include "glint/report/table.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>
#include <utility>

namespace glint {
namespace {

constexpr size_t kTableGap = 2;  // spaces between columns
constexpr size_t kAnyWidth = static_cast<size_t>(-1);

// Grammar of a number in JSON: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool is_json_number(std::string_view s) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t start = i;
    while (i < s.size() && s[i] >= '0' && s[i] <= '9') i++;
    return i - start;
  };
  if (i < s.size() && s[i] == '-') i++;
  const size_t whole = i;
  const size_t n = digits();
  if (n == 0 || (n > 1 && s[whole] == '0')) return false;
  if (i < s.size() && s[i] == '.') {
    i++;
    if (digits() == 0) return false;
  }
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    i++;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) i++;
    if (digits() == 0) return false;
  }
  return i == s.size();
}

std::string json_string(const std::string& s) {
  return nlohmann::json(s).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_cell(const Column& column, const std::string& cell) {
  if (column.text) return json_string(cell);
  if (cell.empty() || cell == "nan" || cell == "inf" || cell == "-inf") return "null";
  return is_json_number(cell) || cell == "true" || cell == "false" ? cell : json_string(cell);
}

const std::string& key(const Column& column) { return column.key.empty() ? column.header : column.key; }

// A pipe or a line feed would end the cell.
std::string markdown_cell(const std::string& cell) {
  std::string out;
  for (const char c : cell) {
    if (c == '|')
      out += "\\|";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out;
}

void end_line(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

}  // namespace

std::vector<Column> headers(const std::vector<std::string>& words, const std::vector<std::string>& numbers,
                            const std::vector<std::string>& last) {
  std::vector<Column> out;
  for (const std::string& header : words) out.push_back({.header = header});
  for (const std::string& header : numbers) out.push_back({.header = header, .align = Align::right});
  for (const std::string& header : last) out.push_back({.header = header});
  return out;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

// As narrow as column j can be made by breaking lines at spaces: headers always, cells only where they are
// text.
size_t Table::narrowest(size_t j) const {
  constexpr size_t kReadable = 16;  // columns of text that are still a pleasure to read
  const auto longest_word = [](const std::string& text) {
    size_t longest = 0;
    for (const std::string& line : wrap(text, 1)) longest = std::max(longest, display_width(line));
    return longest;
  };
  size_t least = longest_word(columns_[j].header);
  for (const std::vector<std::string>& row : rows_) {
    const size_t whole = display_width(row[j]);
    const bool text = columns_[j].align == Align::left;
    least = std::max(least, text ? std::max(longest_word(row[j]), std::min(whole, kReadable)) : whole);
  }
  return least;
}

std::string Table::terminal(size_t width) const {
  const size_t n = columns_.size();
  std::vector<size_t> least(n);
  for (size_t j = 0; j < n; j++) least[j] = narrowest(j);
  // Columns that do not fit beside the others follow below, each time with the first column, which names the
  // rows.
  std::string out;
  std::vector<size_t> shown;
  size_t used = 0;
  for (size_t j = 0; j < n; j++) {
    const size_t more = least[j] + (shown.empty() ? 0 : kTableGap);
    if (shown.size() > 1 && used + more > width) {
      out += block(shown, least, width) + "\n";
      shown = {0};
      used = least[0];
    }
    used += least[j] + (shown.empty() ? 0 : kTableGap);
    shown.push_back(j);
  }
  return out + block(shown, least, width);
}

std::string Table::terminal() const { return terminal(80); }

// Some of the columns, within `width` if `least` allows it.
std::string Table::block(const std::vector<size_t>& shown, const std::vector<size_t>& least, size_t width) const {
  const size_t n = shown.size();
  // From the widest that the cells ask for, the widest column that can is made narrower until all fit.
  std::vector<size_t> limits(n);
  size_t total = n ? kTableGap * (n - 1) : 0;
  for (size_t k = 0; k < n; k++) {
    const Column& column = columns_[shown[k]];
    const auto natural = [&](const std::string& cell) {
      size_t widest = 0;
      for (const std::string& line : wrap(cell, column.max_width ? column.max_width : kAnyWidth))
        widest = std::max(widest, display_width(line));
      return widest;
    };
    limits[k] = natural(column.header);
    for (const std::vector<std::string>& row : rows_) limits[k] = std::max(limits[k], natural(row[shown[k]]));
    total += limits[k];
  }
  while (total > width) {
    size_t widest = n;
    for (size_t k = 0; k < n; k++)
      if (limits[k] > least[shown[k]] && (widest == n || limits[k] > limits[widest])) widest = k;
    if (widest == n) break;
    limits[widest]--;
    total--;
  }

  std::vector<std::vector<std::vector<std::string>>> lines;  // [row][column][line], the headers first
  std::vector<size_t> widths(n, 0);
  const auto take = [&](size_t k, const std::string& cell) {
    lines.back().push_back(wrap(cell, limits[k]));
    for (const std::string& line : lines.back().back()) widths[k] = std::max(widths[k], display_width(line));
  };
  lines.emplace_back();
  for (size_t k = 0; k < n; k++) take(k, columns_[shown[k]].header);
  for (const std::vector<std::string>& row : rows_) {
    lines.emplace_back();
    for (size_t k = 0; k < n; k++) take(k, row[shown[k]]);
  }

  std::string out;
  for (size_t i = 0; i < lines.size(); i++) {
    size_t height = 1;
    for (const auto& cell : lines[i]) height = std::max(height, cell.size());
    for (size_t line = 0; line < height; line++) {
      for (size_t k = 0; k < n; k++) {
        const std::vector<std::string>& cell = lines[i][k];
        if (k) out.append(kTableGap, ' ');
        out += pad(line < cell.size() ? cell[line] : "", widths[k], columns_[shown[k]].align);
      }
      end_line(out);
    }
    if (i > 0) continue;
    for (size_t k = 0; k < n; k++) out += (k ? std::string(kTableGap, ' ') : "") + std::string(widths[k], '-');
    end_line(out);
  }
  return out;
}

std::string Table::markdown() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_)
    widths.push_back(std::max<size_t>(3, display_width(markdown_cell(column.header))));
  for (const std::vector<std::string>& row : rows_)
    for (size_t j = 0; j < row.size(); j++) widths[j] = std::max(widths[j], display_width(markdown_cell(row[j])));

  std::string out = "|";
  for (size_t j = 0; j < columns_.size(); j++)
    out += " " + pad(markdown_cell(columns_[j].header), widths[j], columns_[j].align) + " |";
  out += "\n|";
  for (size_t j = 0; j < columns_.size(); j++) {
    std::string rule(widths[j] + 2, '-');
    if (columns_[j].align != Align::left) rule.back() = ':';
    if (columns_[j].align == Align::center) rule.front() = ':';
    out += rule + "|";
  }
  out += '\n';
  for (const std::vector<std::string>& row : rows_) {
    out += "|";
    for (size_t j = 0; j < row.size(); j++)
      out += " " + pad(markdown_cell(row[j]), widths[j], columns_[j].align) + " |";
    out += '\n';
  }
  return out;
}

std::string Table::csv() const {
  std::string out;
  for (size_t j = 0; j < columns_.size(); j++) out += (j ? "," : "") + csv_field(key(columns_[j]));
  out += '\n';
  for (const std::vector<std::string>& row : rows_) {
    for (size_t j = 0; j < row.size(); j++) out += (j ? "," : "") + csv_field(row[j]);
    out += '\n';
  }
  return out;
}

std::string Table::json() const {
  std::string out = "[";
  for (size_t i = 0; i < rows_.size(); i++) {
    out += i ? ",\n  {" : "\n  {";
    for (size_t j = 0; j < columns_.size(); j++)
      out += (j ? ", " : "") + json_string(key(columns_[j])) + ": " + json_cell(columns_[j], rows_[i][j]);
    out += "}";
  }
  return out + (rows_.empty() ? "]\n" : "\n]\n");
}

}  // namespace glint
