#include "glint/report/report_page.h"

namespace glint {
namespace {

// `code` and **strong**; a mark without its partner is shown as it is.
std::string inline_html(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const std::string_view mark = text.substr(i, 2) == "**" ? "**" : text[i] == '`' ? "`" : "";
    const size_t end = mark.empty() ? text.npos : text.find(mark, i + mark.size());
    if (end != text.npos) {
      const char* tag = mark == "`" ? "code" : "strong";
      out += std::string("<") + tag + ">" + xml_escape(text.substr(i + mark.size(), end - i - mark.size())) + "</" +
             tag + ">";
      i = end + mark.size();
      continue;
    }
    const size_t next = std::min(text.find_first_of("`*", i + 1), text.size());
    out += xml_escape(text.substr(i, next - i));
    i = next;
  }
  return out;
}

std::string with_class(const char* tag, const std::string& name, const std::string& inner) {
  return std::string("<") + tag + " class=\"" + name + "\">" + inner + "</" + tag + ">";
}

std::string heads(const ReportTable& t) {
  const auto align = [](Align a) { return a == Align::left ? " class=\"left\"" : ""; };
  bool grouped = false;
  for (const ReportTable::Head& h : t.heads) grouped = grouped || !h.group.empty();
  std::string groups, top, row;
  for (size_t i = 0; i < t.heads.size(); i++) {
    row += std::string("<th scope=\"col\"") + align(t.heads[i].align) + ">" + inline_html(t.heads[i].text) + "</th>";
    if (i > 0 && t.heads[i].group == t.heads[i - 1].group) continue;
    size_t span = 1;
    while (i + span < t.heads.size() && t.heads[i + span].group == t.heads[i].group) span++;
    const std::string columns = " colspan=\"" + std::to_string(span) + "\"";
    groups += "<colgroup span=\"" + std::to_string(span) + "\"></colgroup>";
    top += t.heads[i].group.empty()
               ? "<td" + columns + "></td>"
               : "<th scope=\"colgroup\"" + columns + " class=\"group\">" + inline_html(t.heads[i].group) + "</th>";
  }
  return (grouped ? groups + "\n" : "") + "<thead>" + (grouped ? "<tr>" + top + "</tr>" : "") + "<tr>" + row +
         "</tr></thead>\n";
}

// What is wider than the screen scrolls by itself, also with the keys alone.
std::string scroller(const std::string& label, const std::string& inner) {
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + xml_escape(label) + "\">" + inner +
         "</div>\n";
}

std::string notes(const std::string& note) {
  std::string out;
  for (const char c : inline_html(note)) out += c == '\n' ? std::string("<br>") : std::string(1, c);
  return "<small>" + out + "</small>";
}

std::string body(const ReportTable& t) {
  std::string out = "<tbody>\n";
  std::vector<std::string> above(t.keys);  // what an empty cell repeats, for those who hear the table
  for (const ReportTable::Row& row : t.rows) {
    out += row.first ? "<tr class=\"first\">" : "<tr>";
    for (size_t i = 0; i < row.cells.size(); i++) {
      const Cell& c = row.cells[i];
      const bool left = i < t.heads.size() && t.heads[i].align == Align::left, key = i < t.keys;
      std::string inner = inline_html(c.text);
      if (key && c.text.empty()) inner = with_class("span", "unseen", above[i]);
      if (key && !c.text.empty()) above[i] = inner;
      if (c.strong) inner = "<strong>" + inner + "</strong>";
      if (!c.note.empty()) inner += notes(c.note);
      out += std::string(key ? "<th scope=\"row\"" : "<td") + (left ? " class=\"left\">" : ">") + inner +
             (key ? "</th>" : "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody>";
}

std::string html(const ReportTable& t) {
  return "<figure class=\"card table\">\n" +
         scroller("Numbers: " + t.name, "<table>\n" + heads(t) + body(t) + "</table>") + "<figcaption>" +
         inline_html(t.caption) + " " + with_class("span", "files", "tables/" + xml_escape(t.name) + ".csv, .json") +
         "</figcaption></figure>\n";
}

std::string html(const ReportFigure& f) {
  // An XML declaration may not stand inside a page.
  const size_t begin = f.svg.find("<svg");
  const std::string svg = begin == f.svg.npos ? "" : f.svg.substr(begin);
  return with_class("figure", f.wide ? "card figure wide" : "card figure",
                    "\n" + (f.wide ? scroller("Figure: " + f.name, svg) : svg) + "<figcaption>" +
                        inline_html(f.caption) + " " +
                        with_class("span", "files", "figures/" + xml_escape(f.name) + ".svg, .csv") +
                        "</figcaption>\n") +
         "\n";
}

std::string badge(Verdict v) {
  const char* kind = v == Verdict::holds     ? "holds"
                     : v == Verdict::in_part ? "part"
                     : v == Verdict::fails   ? "fails"
                                             : "untested";
  return with_class("span", std::string("badge ") + kind, std::string(name(v)));
}

std::string paper_numbers(const Finding& f) {
  if (!f.in_paper) return "";
  return "<p class=\"rule\">The paper's own numbers: " +
         (f.paper.empty() ? "it prints none"
                          : "<strong>" + xml_escape(f.paper) + "</strong>. " + inline_html(f.paper_measured)) +
         ".</p>";
}

std::string html(const Findings& findings) {
  std::string out = "<ol class=\"findings\">\n";
  for (const Finding& f : findings)
    out += "<li class=\"card\"><div class=\"claim\"><blockquote>" +
           (f.in_paper ? "\xe2\x80\x9c" + xml_escape(f.quote) + "\xe2\x80\x9d" : xml_escape(f.quote)) +
           "</blockquote>" + badge(f.verdict) + "</div><p class=\"place\">" + xml_escape(f.place) +
           "</p><p class=\"measured\">" + inline_html(measured_text(f)) + "</p>" +
           (f.gpu.empty() ? "" : "<p class=\"measured\">" + inline_html(f.gpu) + "</p>") + paper_numbers(f) +
           "<p class=\"rule\">Holds when: " + inline_html(f.rule) + ".</p></li>\n";
  return out + "</ol>\n";
}

std::string html(const Paragraph& p) { return "<p>" + inline_html(p.text) + "</p>\n"; }
std::string html(const Notice& n) { return with_class("p", "notice", inline_html(n.text)) + "\n"; }
std::string html(const Quotation& q) {
  return "<figure class=\"card quotation\"><figcaption>" + inline_html(q.title) + "</figcaption><blockquote>" +
         xml_escape(q.text) + "</blockquote></figure>\n";
}
std::string html(const MarkedText& t) { return marked_html(t); }
std::string html(const Commands& c) {
  std::string lines;
  for (const std::string& line : c.lines) lines += xml_escape(line) + "\n";
  return "<pre class=\"card\">" + lines + "</pre>\n";
}

bool side_by_side(const Block& block) {
  const ReportFigure* f = std::get_if<ReportFigure>(&block);
  return f && !f->wide;
}

std::string section(const ReportSection& s) {
  std::string out = "<section id=\"" + xml_escape(s.id) + "\">\n<h2>" + inline_html(s.title) + "</h2>\n";
  bool open = false;
  for (const Block& block : s.blocks) {
    if (side_by_side(block) != open) out += open ? "</div>\n" : "<div class=\"row\">\n";
    open = side_by_side(block);
    out += std::visit([](const auto& b) { return html(b); }, block);
  }
  return out + (open ? "</div>\n" : "") + "</section>\n";
}

}  // namespace

std::string report_html(const Report& report) {
  std::string nav, body, facts, notices;
  for (const ReportSection& s : report.sections) {
    nav += "<a href=\"#" + xml_escape(s.id) + "\">" + inline_html(s.nav.empty() ? s.title : s.nav) + "</a>";
    body += section(s);
  }
  for (const std::string& n : report.notices) notices += html(Notice{n});
  for (const std::string& f : report.facts) facts += "<li>" + inline_html(f) + "</li>";
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
         "style-src 'unsafe-inline'\">\n<title>" +
         xml_escape(report.title) + "</title>\n<style>\n" + std::string(report_style()) +
         "</style>\n</head>\n<body>\n<header><div class=\"top\"><p class=\"name\"><span "
         "class=\"mark\"></span>glint</p><nav aria-label=\"Sections\">" +
         nav + "</nav></div></header>\n<main>\n<h1>" + inline_html(report.title) + "</h1>\n<p class=\"lead\">" +
         inline_html(report.lead) + "</p>\n<ul class=\"facts\">" + facts + "</ul>\n" + notices + body +
         "</main>\n</body>\n</html>\n";
}

std::string_view name(Verdict verdict) {
  static constexpr std::string_view kNames[] = {"holds", "holds in part", "does not hold", "not tested at this scale"};
  return kNames[static_cast<size_t>(verdict)];
}

}  // namespace glint
