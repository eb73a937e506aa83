#include "glint/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace glint::cli {

Terminal detect_terminal(int descriptor) {
  Terminal t;
  const char* kind = std::getenv("TERM");
  t.interactive = ::isatty(descriptor) == 1 && std::string_view(kind ? kind : "") != "dumb";
  const char* no_color = std::getenv("NO_COLOR");  // no-color.org: set and not empty
  t.color = t.interactive && !(no_color && *no_color);
  t.width = [descriptor]() -> size_t {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
  };
  return t;
}

std::string error_text(const ErrorParts& parts, bool color) {
  const char* const red = color ? "\x1b[1;31m" : "";
  const char* const faint = color ? "\x1b[2m" : "";
  const char* const plain = color ? "\x1b[0m" : "";
  std::string out = std::string("glint: ") + red + "error:" + plain + " " + parts.what + "\n";
  const auto line = [&](const char* label, const std::string& text) {
    if (!text.empty()) out += std::string("  ") + faint + label + plain + text + "\n";
  };
  line("where:    ", parts.where);
  line("expected: ", parts.expected);
  line("try:      ", parts.hint);
  return out;
}

}  // namespace glint::cli
