#include "glint/report/sweep_page.h"

#include "glint/base/text.h"
#include "glint/report/report_page.h"

namespace glint {
namespace {

// The setting that a link names is shown, without a link the first.
constexpr const char* kStyle = R"css(
.look { display: grid; grid-template-columns: minmax(0, 1.25fr) minmax(0, 1fr); gap: 16px; align-items: start; }
.look > .left { position: sticky; top: 64px; }
.look .card { margin-top: 0; }
.look .left .card + .card { margin-top: 16px; }
.answer { font-size: 17px; line-height: 1.45; max-width: 90ch; margin: 10px 0 14px; }
.figure a { cursor: pointer; }
.figure a text { fill: var(--ink); }
.figure a:hover text, .figure a:focus text { text-decoration: underline; }
.figure a:hover :is(circle, rect, path), .figure a:focus :is(circle, rect, path) { stroke: var(--ink); stroke-width: 2; }
.setting { display: none; }
.setting:target { display: block; }
.look:not(:has(.setting:target)) .setting.first { display: block; }
.setting h3 { margin: 0 0 8px; font-size: 17px; }
.setting dl { display: grid; grid-template-columns: 1fr max-content; gap: 2px 14px; margin: 12px 0; font-size: 13px; }
.setting dt { color: var(--muted); }
.setting dd { margin: 0; font-variant-numeric: tabular-nums; white-space: nowrap; text-align: right; }
tr.chosen > * { font-weight: 650; }
td .front { color: var(--good); }
@media (max-width: 1000px) { .look { grid-template-columns: minmax(0, 1fr); } .look > .left { position: static; } }
@media print { .setting { display: block; break-inside: avoid; } .look { display: block; } }
)css";

std::string drawn(const std::string& svg) {
  const size_t begin = svg.find("<svg");  // an XML declaration may not stand inside a page
  return begin == svg.npos ? "" : svg.substr(begin);
}

std::string setting_html(const SweepPageSetting& s, bool first) {
  std::string out = "<section class=\"card figure setting" + std::string(first ? " first" : "") + "\" id=\"" +
                    xml_escape(s.id) + "\">\n<h3>" + xml_escape(s.name) + "</h3>\n" + drawn(s.pictures) + "<dl>";
  for (const auto& [what, value] : s.facts)
    out += "<dt>" + xml_escape(what) + "</dt><dd>" + xml_escape(value) + "</dd>";
  return out + "</dl>\n<p class=\"place files\">" + xml_escape(s.files) + "</p></section>\n";
}

std::string table_html(const SweepPage& page) {
  std::string out =
      "<figure class=\"card table\" id=\"table\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"All settings\"><table><thead><tr>";
  for (size_t i = 0; i < page.heads.size(); i++)
    out += std::string("<th scope=\"col\"") + (i == 0 ? " class=\"left\">" : ">") + xml_escape(page.heads[i]) + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const SweepPage::Row& row : page.rows) {
    out += row.chosen ? "<tr class=\"chosen\">" : "<tr>";
    for (size_t i = 0; i < row.cells.size(); i++)
      out += i == 0
                 ? "<th scope=\"row\" class=\"left\"><a href=\"#" + xml_escape(row.id) + "\">" +
                       xml_escape(row.cells[i]) + "</a>" +
                       (row.front ? " <span class=\"front\" title=\"on the Pareto front\">\u25c6</span>" : "") + "</th>"
                 : "<td>" + xml_escape(row.cells[i]) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n<figcaption>" + xml_escape(page.caption) + "</figcaption></figure>\n";
}

}  // namespace

std::string sweep_html(const SweepPage& page) {
  std::string facts, settings, maps;
  for (const std::string& map : page.heat_maps) maps += "<figure class=\"card figure\">\n" + drawn(map) + "</figure>\n";
  for (const std::string& f : page.facts) facts += "<li>" + xml_escape(f) + "</li>";
  for (size_t i = 0; i < page.settings.size(); i++) settings += setting_html(page.settings[i], i == 0);
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
         "style-src 'unsafe-inline'\">\n<title>" +
         xml_escape(page.title) + "</title>\n<style>\n" + std::string(report_style()) + kStyle +
         "</style>\n</head>\n<body>\n<header><div class=\"top\"><p class=\"name\"><span "
         "class=\"mark\"></span>glint</p></div></header>\n<main>\n<h1>" +
         xml_escape(page.title) + "</h1>\n<p class=\"answer\">" + xml_escape(page.lead) + "</p>\n<ul class=\"facts\">" +
         facts +
         "</ul>\n<h2>Loss and readability</h2>\n<div class=\"look\">\n<div class=\"left\"><figure "
         "class=\"card figure\">\n" +
         drawn(page.chart) +
         "<figcaption>Every point is a setting: choose one, here or in the table, to see what its weights "
         "look like.</figcaption></figure>\n" +
         maps + "</div>\n<div>" + settings + "</div>\n</div>\n<h2>All settings</h2>\n" + table_html(page) +
         "</main>\n</body>\n</html>\n";
}

}  // namespace glint
