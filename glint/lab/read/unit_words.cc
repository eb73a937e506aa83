#include "glint/lab/read/unit_words.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/text.h"

namespace glint {
namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// A name goes before a number: there are sets whose classes are numbers from 1 on.
std::optional<size_t> find_class(const std::string& text, const std::vector<std::string>& names) {
  const std::string word = lower(trimmed(text));
  for (size_t c = 0; c < names.size(); c++)
    if (lower(names[c]) == word) return c;
  if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos) return {};
  const size_t number = std::stoul(word);
  return number < names.size() ? std::optional(number) : std::nullopt;
}

[[noreturn]] void unknown(const std::string& word, const std::vector<std::string>& names,
                          const std::string& parameter) {
  std::vector<std::string> lowered;
  for (const std::string& n : names) lowered.push_back(lower(n));
  const std::string near = nearest(lower(word), lowered);
  std::string classes = "a class from 0 to " + std::to_string(names.size() - 1);
  if (const auto number = find_class("0", names); number && names[0] != "0")
    classes += ", or its name (" + names.front() + " ... " + names.back() + ")";
  bad_argument(parameter, "no class '" + word + "'", classes, near.empty() ? "" : "did you mean " + near + "?");
}

// All ways to cut at `mark` are tried, since a name may hold it too: "t-shirt/top-shirt".
std::optional<std::pair<size_t, size_t>> find_pair(const std::string& word, const std::string& mark,
                                                   const std::vector<std::string>& names) {
  for (size_t at = word.find(mark); at != std::string::npos; at = word.find(mark, at + 1)) {
    const auto a = find_class(word.substr(0, at), names), b = find_class(word.substr(at + mark.size()), names);
    if (a && b) return std::pair(*a, *b);
  }
  return {};
}

[[noreturn]] void wrong(const std::string& what, const std::string& parameter) {
  bad_argument(parameter, what, "classes such as 3, a range 5..9, a difference 3-5, lists with commas, or all");
}

}  // namespace

size_t parse_class(const std::string& text, const std::vector<std::string>& class_names, const std::string& parameter) {
  if (const auto c = find_class(text, class_names)) return *c;
  unknown(trimmed(text), class_names, parameter);
}

std::vector<UnitWord> parse_units(const std::string& text, const std::vector<std::string>& class_names,
                                  const std::string& parameter) {
  std::vector<UnitWord> units;
  const auto add = [&](UnitWord unit) {
    if (std::find(units.begin(), units.end(), unit) == units.end()) units.push_back(unit);
  };
  for (const std::string& part : split(text, ',')) {
    const std::string word = trimmed(part);
    if (word.empty()) wrong("an empty unit in '" + text + "'", parameter);
    if (const auto c = find_class(word, class_names)) {
      add({*c});
    } else if (lower(word) == "all") {
      for (size_t k = 0; k < class_names.size(); k++) add({k});
    } else if (const auto range = find_pair(word, "..", class_names)) {
      if (range->first > range->second) wrong("the range '" + word + "' runs backwards", parameter);
      for (size_t k = range->first; k <= range->second; k++) add({k});
    } else if (const auto pair = find_pair(word, "-", class_names)) {
      if (pair->first == pair->second) wrong("'" + word + "' is a class against itself", parameter);
      add({pair->first, pair->second});
    } else {
      // Name the half that is wrong, when there is just one.
      for (const std::string mark : {"..", "-"})
        if (const size_t cut = word.find(mark); cut != std::string::npos && cut > 0) {
          parse_class(word.substr(0, cut), class_names, parameter);
          parse_class(word.substr(cut + mark.size()), class_names, parameter);
        }
      unknown(word, class_names, parameter);
    }
  }
  return units;
}

}  // namespace glint
