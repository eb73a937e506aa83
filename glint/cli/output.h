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

}  // namespace glint::cli
