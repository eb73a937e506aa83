#include "glint/cli/passage_view.h"

#include <algorithm>
#include <cmath>

#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/cli/output.h"
#include "glint/cli/terminal.h"

namespace glint::cli {
namespace {

constexpr std::string_view kIndent = "    ";
constexpr double kHalf = 0.5;

// Backgrounds from faint to full, black on them.
std::string coloured(const std::string& word, double strength, bool strongest) {
  static constexpr int kRed[] = {224, 217, 210, 203, 196}, kBlue[] = {189, 153, 117, 81, 39};
  static constexpr double kLevels[] = {0.06, 0.2, 0.4, 0.6, 0.8};
  int level = -1;
  while (level < 4 && std::fabs(strength) >= kLevels[level + 1]) level++;
  if (level < 0 && !strongest) return word;
  const int shade = std::max(level, 0), color = strength < 0 ? kBlue[shade] : kRed[shade];
  return std::string("\x1b[") + (strongest ? "1;4;" : "") + "38;5;16;48;5;" + std::to_string(color) + "m" + word +
         "\x1b[0m";
}

std::string marked_word(const std::string& word, double strength, bool strongest) {
  if (strongest) return "[" + word + "]";
  return std::fabs(strength) >= kHalf ? "*" + word + "*" : word;
}

// The words of a passage in lines, which break where a token begins with a space; a line feed of the text
// becomes a stroke.
std::string passage_lines(const ShownPassage& p, WordMarks marks, size_t columns) {
  std::string out, line(kIndent), word;
  size_t width = kIndent.size(), word_width = 0;
  const auto finish_word = [&] {
    if (word.empty()) return;
    const bool fresh = width == kIndent.size();
    if (!fresh && width + 1 + word_width > columns) {
      out += line + "\n";
      line = kIndent, width = kIndent.size();
    } else if (!fresh) {
      line += " ", width++;
    }
    line += word, width += word_width;
    word.clear(), word_width = 0;
  };
  for (size_t i = 0; i < p.tokens.size(); i++) {
    const PassageToken& t = p.tokens[i];
    std::string text;
    for (const char c : t.text) text += c == '\n' ? std::string(" / ") : std::string(1, c);
    text = printable(text);
    const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
    if (text.starts_with(' ')) finish_word();
    if (begin == text.npos) continue;
    const std::string core = text.substr(begin, end + 1 - begin);
    const bool strongest = i == p.strongest;
    const std::string shown =
        marks == WordMarks::colours ? coloured(core, t.strength, strongest) : marked_word(core, t.strength, strongest);
    word += shown;
    word_width += display_width(marks == WordMarks::colours ? core : shown);
    if (end + 1 < text.size()) finish_word();
  }
  finish_word();
  return out + line + "\n";
}

}  // namespace

WordMarks detect_word_marks() {
  return detect_terminal(1).color && !wants_ascii(false) ? WordMarks::colours : WordMarks::plain;
}

std::string responses_text(const std::vector<Responses>& responses, WordMarks marks, size_t columns) {
  std::string out;
  for (const Responses& r : responses) {
    out += "\n" + r.name + (r.eigenvector ? ": eigenvalue " + typed_number(r.value) : "") + "\n";
    if (r.eigenvector) {
      out += "along:   " + token_list(r.near.along) + "\n";
      out += "against: " + token_list(r.near.against) + "\n";
    }
    for (const ShownPassage& p : r.passages)
      out += "  " + passage_caption(r, p) + "\n" + passage_lines(p, marks, columns);
    if (r.passages.empty()) out += "  0 everywhere in this text\n";
  }
  return out;
}

std::string marks_text(WordMarks marks) {
  return marks == WordMarks::colours
             ? "Red words: on the side of the tokens along the eigenvector, of a hidden unit above 0; blue: "
               "against, below 0; the stronger the colour, the stronger the response. The strongest word is "
               "underlined.\n"
             : "[word]: the strongest; *word*: at least half as strong as the strongest of all passages.\n";
}

}  // namespace glint::cli
