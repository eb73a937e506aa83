#include "glint/report/report_page.h"

#include <algorithm>

namespace glint {
namespace {

std::string markdown(const Paragraph& p) { return p.text + "\n"; }
std::string markdown(const Notice& n) { return "> **Note.** " + n.text + "\n"; }

std::string lines(const std::string& note) {
  std::string out;
  for (const char c : note) out += c == '\n' ? std::string("<br>") : std::string(1, c);
  return out;
}

std::string markdown(const ReportTable& t) {
  std::vector<Column> columns;
  for (const ReportTable::Head& h : t.heads)
    columns.push_back({.header = h.group.empty() ? h.text : h.group + " " + h.text, .align = h.align});
  Table table(std::move(columns));
  for (const ReportTable::Row& row : t.rows) {
    std::vector<std::string> cells;
    for (const Cell& c : row.cells) {
      const std::string text = c.strong ? "**" + c.text + "**" : c.text;
      cells.push_back(c.note.empty() ? text : text + "<br><sub>" + lines(c.note) + "</sub>");
    }
    table.add(std::move(cells));
  }
  return table.markdown() + "\n" + t.caption + " Files: [CSV](tables/" + t.name + ".csv), [JSON](tables/" + t.name +
         ".json).\n";
}

// Brackets would end the text of the picture.
std::string picture_text(const std::string& caption) {
  std::string out;
  for (const char c : caption) out += c == '[' ? '(' : c == ']' ? ')' : c;
  return out;
}

std::string markdown(const ReportFigure& f) {
  return "![" + picture_text(f.caption) + "](figures/" + f.name + ".svg)\n\n" + f.caption + " Numbers: [CSV](figures/" +
         f.name + ".csv).\n";
}

std::string markdown(const Findings& findings) {
  Table table({{.header = "claim"},
               {.header = "place"},
               {.header = "measured"},
               {.header = "verdict"},
               {.header = "the paper's own numbers"}});
  for (const Finding& f : findings)
    table.add({f.in_paper ? "\xe2\x80\x9c" + f.quote + "\xe2\x80\x9d" : f.quote, f.place,
               measured_text(f) + (f.gpu.empty() ? "" : "<br>" + f.gpu) + "<br><sub>Holds when: " + f.rule + ".</sub>",
               "**" + std::string(name(f.verdict)) + "**",
               !f.in_paper       ? ""
               : f.paper.empty() ? "none printed"
                                 : f.paper + "<br><sub>" + f.paper_measured + "</sub>"});
  return table.markdown();
}

std::string markdown(const Quotation& q) {
  std::string quoted;
  for (const char c : q.text) quoted += c == '\n' ? std::string("\n> ") : std::string(1, c);
  return "**" + q.title + "**\n\n> " + quoted + "\n";
}

// No colours here: the strongest word is bold.
std::string markdown(const MarkedText& t) {
  std::string words;
  for (const MarkedWord& w : t.words) {
    const size_t cut = std::min(w.text.find_first_not_of(' '), w.text.size());
    words += w.strongest ? w.text.substr(0, cut) + "**" + w.text.substr(cut) + "**" : w.text;
  }
  return "> " + (t.title.empty() ? "" : t.title + ":") + words + "\n";
}

std::string markdown(const Commands& c) {
  std::string out = "```\n";
  for (const std::string& line : c.lines) out += line + "\n";
  return out + "```\n";
}

}  // namespace

std::string report_markdown(const Report& report) {
  std::string out = "# " + report.title + "\n\n" + report.lead + "\n\n";
  for (const std::string& n : report.notices) out += markdown(Notice{n}) + "\n";
  for (const std::string& f : report.facts) out += "- " + f + "\n";
  for (const ReportSection& s : report.sections) {
    out += "\n## " + s.title + "\n";
    for (const Block& block : s.blocks) out += "\n" + std::visit([](const auto& b) { return markdown(b); }, block);
  }
  return out;
}

Table findings_table(const Findings& findings) {
  std::vector<Column> columns = {{.header = "id"},
                                 {.header = "claim"},
                                 {.header = "place"},
                                 {.header = "rule"},
                                 {.header = "measured", .text = true},
                                 {.header = "verdict"},
                                 {.header = "why_not_tested", .text = true},
                                 {.header = "small_data", .text = true},
                                 {.header = "paper_numbers", .text = true},
                                 {.header = "paper_measured", .text = true}};
  if (std::ranges::any_of(findings, [](const Finding& f) { return !f.gpu.empty(); }))
    columns.push_back({.header = "gpu", .text = true});
  const size_t shown = columns.size();
  Table table(std::move(columns));
  for (const Finding& f : findings) {
    std::vector<std::string> cells = {
        f.id,  f.quote, f.place, f.rule,           f.measured, std::string(name(f.verdict)),
        f.why, f.small, f.paper, f.paper_measured, f.gpu};
    cells.resize(shown);
    table.add(std::move(cells));
  }
  return table;
}

std::string measured_text(const Finding& f) {
  if (f.measured == kNotRun) return f.why.empty() ? f.measured : f.measured + ": " + f.why;
  return f.small.empty() ? f.measured : "**" + f.small + "** (" + f.why + "). " + f.measured;
}

}  // namespace glint
