// Small text helpers that tables, charts and the command line share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace glint {

enum class Align { left, right, center };

// Columns that a UTF-8 text takes on a terminal: 0 for combining marks, 2 for wide East Asian characters and
// emoji, 1 for anything else, a byte that is not UTF-8 included.
size_t display_width(std::string_view text);

// The longest start of `text` that fits into `width` columns; never cuts a character.
std::string_view fit_start(std::string_view text, size_t width);

// Fills up with spaces to `width` columns; a longer text stays as it is.
std::string pad(std::string_view text, size_t width, Align align);

// Breaks at spaces into lines of at most `width` columns; a longer word stands alone. Line feeds are kept.
// At least one line.
std::vector<std::string> wrap(std::string_view text, size_t width);

// The parts between separators: one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);
// The words with `between` between them.
std::string joined(const std::vector<std::string>& words, std::string_view between);
// Without the spaces at both ends.
std::string trimmed(std::string_view text);

// The shortest decimal text that reads back as the same double; "nan", "inf", "-inf".
std::string number_text(double value);

// With so many digits after the point, at most 40, whatever the locale. From 1e15 on as 1.234e+15; "nan",
// "inf",
// "-inf".
std::string fixed_text(double value, int decimals);

// For XML text and attributes. What XML cannot hold (control characters, bytes that are not UTF-8) becomes
// U+FFFD.
std::string xml_escape(std::string_view text);

// A CSV field after RFC 4180: quoted when it has to be.
std::string csv_field(std::string_view text);

// 3725 -> "1:02:05", 65 -> "1:05".
std::string duration_text(double seconds);

}  // namespace glint
