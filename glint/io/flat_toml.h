// The part of TOML that recipes are written in: lines `key = value` with a string, a number or a truth value,
// and comments. There are no tables, lists or keys with dots, so nothing in a text can nest, and what is read
// is never larger than a few times the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace glint {

struct TomlLine {
  std::string key;
  std::variant<std::string, int64_t, double, bool> value;
  size_t line = 0;  // from 1
};

// "r.toml, line 3"
std::string place_of_line(const std::string& where, size_t line);

// In the order of the text. Error (bad_file) with `where` and the line for anything else than such lines in
// UTF-8, and for a key that comes twice.
std::vector<TomlLine> parse_flat_toml(std::string_view text, const std::string& where);

}  // namespace glint
