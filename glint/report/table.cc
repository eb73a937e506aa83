#include "glint/report/table.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>
#include <utility>

namespace glint {
namespace {

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

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::terminal() const {
  constexpr size_t kNever = static_cast<size_t>(-1);
  const size_t n = columns_.size();
  std::vector<std::vector<std::vector<std::string>>> blocks;  // [row][column][line], the headers first
  std::vector<size_t> widths(n, 0);
  const auto take = [&](size_t column, const std::string& cell) {
    const size_t limit = columns_[column].max_width;
    std::vector<std::string> lines = wrap(cell, limit ? limit : kNever);
    for (const std::string& line : lines) widths[column] = std::max(widths[column], display_width(line));
    return lines;
  };
  blocks.emplace_back();
  for (size_t j = 0; j < n; j++) blocks.back().push_back(take(j, columns_[j].header));
  for (const std::vector<std::string>& row : rows_) {
    blocks.emplace_back();
    for (size_t j = 0; j < n; j++) blocks.back().push_back(take(j, row[j]));
  }

  std::string out;
  for (size_t i = 0; i < blocks.size(); i++) {
    size_t height = 1;
    for (const auto& lines : blocks[i]) height = std::max(height, lines.size());
    for (size_t k = 0; k < height; k++) {
      for (size_t j = 0; j < n; j++) {
        const std::vector<std::string>& lines = blocks[i][j];
        if (j) out += "  ";
        out += pad(k < lines.size() ? lines[k] : "", widths[j], columns_[j].align);
      }
      end_line(out);
    }
    if (i > 0) continue;
    for (size_t j = 0; j < n; j++) out += (j ? "  " : "") + std::string(widths[j], '-');
    end_line(out);
  }
  return out;
}

std::string Table::markdown() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_)
    widths.push_back(std::max<size_t>(3, display_width(markdown_cell(column.header))));
  for (const std::vector<std::string>& row : rows_)
    for (size_t j = 0; j < row.size(); j++)
      widths[j] = std::max(widths[j], display_width(markdown_cell(row[j])));

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
