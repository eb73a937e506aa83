#include "glint/cli/prose.h"

#include <algorithm>

#include "glint/base/text.h"

namespace glint::cli {
namespace {

// Columns of "label:  " at the start of a line; 0 where there is none.
size_t label_width(const std::string& line) {
  const size_t colon = line.find_first_of(": ");
  if (colon == line.npos || line[colon] != ':' || colon > 12) return 0;
  const size_t words = line.find_first_not_of(' ', colon + 1);
  return words == line.npos || words == colon + 1 ? 0 : words;
}

}  // namespace

std::string prose(const std::string& text, size_t columns) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t indent = label_width(line);
    if (line.find('\x1b') != line.npos || display_width(line) <= columns || indent >= columns) {
      out += line;
    } else {
      out += line.substr(0, indent);
      const std::vector<std::string> parts = wrap(line.substr(indent), columns - indent);
      for (size_t i = 0; i < parts.size(); i++) out += (i > 0 ? "\n" + std::string(indent, ' ') : "") + parts[i];
    }
    if (end < text.size()) out += '\n';
  }
  return out;
}

}  // namespace glint::cli
