// How text reaches the terminal: how wide it may be, and plain ASCII where the locale knows no more.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

#include "glint/cli/terminal.h"

namespace glint::cli {

// Columns for results on stdout: COLUMNS when it is set, else the terminal's; 80 where there is none.
size_t result_columns();

// Columns for messages on stderr: COLUMNS when it is set, else the terminal's. There is no limit in a log,
// where each message stays one line.
size_t message_columns(const Terminal& terminal);

// A number with its sign, as other programs read it: signed_text with the minus of ASCII. Figures have the
// longer one.
std::string typed_number(double value);

// Whether the environment asks for a character set that is not UTF-8: LC_ALL, else LC_CTYPE, else LANG. Where
// none of them is set nothing was asked for, and the answer is `unset`.
bool wants_ascii(bool unset);

// Signs and blocks in ASCII of the same width ("1 ± 2" is "1 +-2"). Characters that have no such form become
// "?" when `all`, else they stay.
std::string to_ascii(std::string_view text, bool all);

// Passes everything on to another buffer through to_ascii.
class AsciiBuffer : public std::streambuf {
 public:
  AsciiBuffer(std::streambuf& target, bool all) : target_(target), all_(all) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int_type overflow(int_type c) override;
  int sync() override { return target_.pubsync(); }

 private:
  std::streambuf& target_;
  bool all_;
};

// As long as |value| is beside `largest`, at most `width` columns, in eighths of a column.
std::string bar(double value, double largest, size_t width);
// The same in whole columns: full blocks above 0, light ones below.
std::string signed_bar(double value, double largest, size_t width);

// Breaks every line that is wider than `columns` at spaces. Behind a label ("data:  ") what follows is
// indented as the first line is. Lines with colours are pictures, which fit, and stay.
std::string prose(const std::string& text, size_t columns);

}  // namespace glint::cli
