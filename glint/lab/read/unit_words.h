// The words of the parameter `unit`: which outputs of a classifier to read.
//
//   3          a class, by number or by name (case does not matter)
//   3-5        class 3 against class 5: the difference of their logits
//   5..9       classes 5 to 9
//   all        every class
// and lists of these with commas.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace glint {

struct UnitWord {
  size_t plus = 0;
  std::optional<size_t> minus = {};
  bool operator==(const UnitWord&) const = default;
};

// Error (usage) with the nearest class for what is none. `parameter` is for the message.
std::vector<UnitWord> parse_units(const std::string& text, const std::vector<std::string>& class_names,
                                  const std::string& parameter = "unit");
size_t parse_class(const std::string& text, const std::vector<std::string>& class_names, const std::string& parameter);

}  // namespace glint
