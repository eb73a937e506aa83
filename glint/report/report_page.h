// A report as a plain description: sections of text, tables, figures, findings. It becomes one self-contained
// HTML page in the look of the explorer, or Markdown that points to the files of its figures.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "glint/report/marked_text.h"
#include "glint/report/table.h"

namespace glint {

// A claim and what became of it: a block of a report.

enum class Verdict { holds, in_part, fails, not_tested };
// "holds", "holds in part", "does not hold", "not tested at this scale".
std::string_view name(Verdict verdict);

struct Finding {
  std::string id;            // for CSV and JSON
  std::string quote, place;  // the claim in a few words, and where the paper makes it
  std::string rule;          // what would make it hold
  std::string measured;
  Verdict verdict = Verdict::not_tested;
  bool in_paper = true;    // false: a question that the paper does not ask
  std::string why = {};    // of a claim that is not tested: what was missing or too small
  std::string small = {};  // of such a claim: what the smaller data say, "on glyphs: holds"; empty: nothing
  // The same rule on the numbers that the paper prints: the verdict's name, and these numbers in words. Empty
  // where it prints none.
  std::string paper = {}, paper_measured = {};
  std::string gpu = {};  // the same rule on times of a GPU; empty where nobody measured them
};
using Findings = std::vector<Finding>;

// `measured` of a claim whose experiment was not run.
inline constexpr const char* kNotRun = "not run";

// Plain text; `code` and **strong** as in Markdown.
struct Paragraph {
  std::string text;
};

// Something the reader must know before the numbers.
struct Notice {
  std::string text;
};

struct Cell {
  std::string text;
  std::string note = {};  // small, below; may have several lines
  bool strong = false;
};

struct ReportTable {
  std::string name;  // of its files: tables/NAME.csv, tables/NAME.json
  std::string caption;
  struct Head {
    std::string text;
    std::string group = {};  // neighbours of one group stand under one heading
    Align align = Align::right;
  };
  std::vector<Head> heads = {};
  size_t keys = 1;  // the first columns name the row; an empty cell there repeats the one above
  struct Row {
    std::vector<Cell> cells;
    bool first = false;  // of a block of rows
  };
  std::vector<Row> rows = {};
  Table data;  // the same numbers in long form, for the files
};

struct ReportFigure {
  std::string name;  // of its files: figures/NAME.svg, figures/NAME.csv
  std::string caption;
  std::string svg, csv;
  bool wide = false;  // takes the whole width; others stand side by side
};

// A sample of text that a model wrote.
struct Quotation {
  std::string title, text;
};

struct Commands {
  std::vector<std::string> lines;
};

using Block = std::variant<Paragraph, Notice, ReportTable, ReportFigure, Quotation, Commands, Findings, MarkedText>;

struct ReportSection {
  std::string id, title;
  std::string nav = {};  // short, for the bar at the top; the title when empty
  std::vector<Block> blocks = {};
};

struct Report {
  std::string title, lead;
  std::vector<std::string> facts = {};    // version, machine, date: one line
  std::vector<std::string> notices = {};  // what the reader must know first
  std::vector<ReportSection> sections = {};
};

std::string report_html(const Report& report);
std::string report_markdown(const Report& report);

// All findings as a table, for files.
Table findings_table(const Findings& findings);
// What was measured, and of a claim whose experiment was not run the reason.
std::string measured_text(const Finding& finding);

// The style sheet of the page.
std::string_view report_style();

}  // namespace glint
