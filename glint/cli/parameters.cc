#include "glint/cli/parameters.h"

#include <algorithm>
#include <optional>

namespace glint::cli {
namespace {

std::string flag(std::string parameter) {
  std::replace(parameter.begin(), parameter.end(), '_', '-');
  return "--" + parameter;
}

// "name" or "name=value"; nothing when there is no such option.
std::optional<std::string> option(const std::string& text, const CommandWords& words) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string name = text.substr(0, equals);
  if (!words.parameters.contains(name)) return {};
  if (equals == text.size()) return flag(name);
  const std::string value = text.substr(equals + 1);
  if (value == "true") return flag(name);
  if (value == "false") return flag("no_" + name);
  return flag(name) + " " + value;
}

// Where the argument that begins at `at` ends: at the next ", " outside single quotes.
size_t argument_end(const std::string& text, size_t at) {
  for (bool quoted = false; at < text.size(); at++) {
    if (text[at] == '\'') quoted = !quoted;
    if (!quoted && text.compare(at, 2, ", ") == 0) break;
  }
  return at;
}

// "verb(ARGUMENT, name=value)"; nothing when there is no such verb.
std::optional<std::string> command(const std::string& text, const CommandWords& words) {
  const size_t open = text.find('(');
  if (open == text.npos || text.back() != ')' || !words.verbs.contains(text.substr(0, open))) return {};
  std::string out = "glint " + text.substr(0, open);
  const std::string inside = text.substr(open + 1, text.size() - open - 2);
  for (size_t at = 0; at < inside.size();) {
    const size_t comma = argument_end(inside, at);
    const std::string argument = inside.substr(at, comma - at);
    const bool named = argument.find('=') != argument.npos;
    out += " " + (named ? option(argument, words).value_or(argument) : argument);
    at = comma + 2;
  }
  return out;
}

}  // namespace

CommandWords command_words(const Program& program) {
  CommandWords words;
  for (const auto& verb : program.verbs()) {
    words.verbs.insert(verb->description().name);
    for (const OptionText& o : verb->options())
      for (const std::string& f : o.flags) {
        if (!f.starts_with("--")) continue;
        std::string name = f.substr(2);
        std::replace(name.begin(), name.end(), '-', '_');
        words.parameters.insert(name);
      }
  }
  return words;
}

std::string as_typed(const std::string& text, const CommandWords& words) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t open = std::min(text.find('`', at), text.size());
    const size_t close = open < text.size() ? text.find('`', open + 1) : text.npos;
    out += text.substr(at, open - at);
    if (close == text.npos) return out + text.substr(open);
    const std::string code = text.substr(open + 1, close - open - 1);
    std::optional<std::string> typed = command(code, words);
    if (!typed) typed = option(code, words);
    if (typed) {
      out += *typed;
      at = close + 1;
    } else {
      out += text.substr(open, close - open);  // its second mark may be the first of another pair
      at = close;
    }
  }
  return out;
}

ErrorParts as_typed(ErrorParts parts, const CommandWords& words) {
  for (std::string* text : {&parts.what, &parts.where, &parts.expected, &parts.hint}) *text = as_typed(*text, words);
  if (parts.code == ErrorCode::usage && words.parameters.contains(parts.where) && !words.given.contains(parts.where))
    parts.where = flag(parts.where);
  return parts;
}

}  // namespace glint::cli
