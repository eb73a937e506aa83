// The look of the explorer page: its colours, cards and type, for a page of text, tables and figures.
#include "glint/report/report_page.h"

namespace glint {

std::string_view report_style() {
  return R"css(
:root {
  color-scheme: light;
  --paper: #f6f6f3; --surface: #ffffff; --text: #1d2027; --muted: #5a616c; --line: #e2e3de;
  --line-strong: #8a909a; --ink: #222222; --grid: #e4e4e4; --pos: #b3261e; --neg: #1f5fae;
  --good: #1d6b3f; --middle: #8a5a00; --hover: #f0f0ec;
  --shadow: 0 1px 2px rgb(20 22 28 / 5%), 0 4px 16px rgb(20 22 28 / 4%);
}
@media screen and (prefers-color-scheme: dark) { :root {
  color-scheme: dark;
  --paper: #0f1115; --surface: #171a20; --text: #e9e9e4; --muted: #a3a9b4; --line: #2a2e37;
  --line-strong: #767d8a; --ink: #d7dae1; --grid: #2a2e37; --pos: #f58a72; --neg: #74b0f5;
  --good: #7fd1a1; --middle: #e8b75c; --hover: #20242c; --shadow: none;
} }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; scroll-padding-top: 64px; }
body { margin: 0; background: var(--paper); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1, h2, p, figure, ul, ol, blockquote, pre { margin: 0; padding: 0; }
h1 { font-size: 28px; font-weight: 650; letter-spacing: -0.02em; line-height: 1.2; }
h2 { font-size: 20px; font-weight: 650; letter-spacing: -0.01em; margin: 40px 0 12px; }
header { background: var(--surface); border-bottom: 1px solid var(--line); position: sticky; top: 0; z-index: 1; }
.top, main { max-width: 1360px; margin: 0 auto; padding-left: 24px; padding-right: 24px; }
.top { display: flex; align-items: center; gap: 20px; padding-top: 8px; padding-bottom: 8px; }
.name { font-size: 17px; font-weight: 650; display: flex; align-items: center; gap: 9px; }
.mark { width: 15px; height: 15px; border-radius: 50%;
  background: linear-gradient(90deg, var(--neg) 50%, var(--pos) 50%); }
nav { display: flex; gap: 2px; overflow-x: auto; scrollbar-width: thin; }
nav a { text-decoration: none; padding: 5px 9px; border-radius: 7px; color: var(--muted); font-size: 13px;
  font-weight: 550; white-space: nowrap; }
nav a:hover { background: var(--hover); color: var(--text); }
:focus-visible { outline: 2px solid var(--neg); outline-offset: 2px; border-radius: 4px; }
main { padding-top: 28px; padding-bottom: 60px; }
main p { max-width: 90ch; }
section > p { margin: 10px 0; }
.lead { margin: 8px 0 14px; color: var(--muted); font-size: 16px; }
.facts { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 18px; color: var(--muted); font-size: 13px; }
.notice { background: var(--surface); border-left: 4px solid var(--middle); padding: 10px 16px; margin: 14px 0; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 12px; padding: 16px 18px;
  box-shadow: var(--shadow); min-width: 0; }
section > .card, .row { margin-top: 16px; }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 16px; }
.scroll { overflow-x: auto; position: relative; }
figcaption { color: var(--muted); font-size: 13px; margin-top: 8px; max-width: 110ch; }
.files { overflow-wrap: anywhere; opacity: 0.75; }
/* Heard, not seen. */
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
code { font: 0.92em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { font: 12px/1.6 ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-x: auto; }
table { border-collapse: collapse; font-size: 12px; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 4px; border-top: 1px solid var(--line); white-space: nowrap;
  vertical-align: top; }
thead th, thead td { color: var(--muted); font-weight: 550; border-top: 0; font-size: 11.5px; }
tbody th { font-weight: inherit; }
thead .group { text-align: center; border-bottom: 1px solid var(--line-strong); color: var(--text); }
tr.first > * { border-top: 1px solid var(--line-strong); }
.left { text-align: left; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
td small { display: block; color: var(--muted); font-weight: 400; font-size: 11px; line-height: 1.35; }
.findings { list-style: none; display: grid; gap: 12px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); margin-top: 16px; }
.claim { display: flex; gap: 12px; justify-content: space-between; align-items: flex-start; }
.claim blockquote { font-weight: 600; line-height: 1.35; }
.place, .rule { color: var(--muted); font-size: 12.5px; }
.measured { margin: 8px 0 6px; font-size: 14px; overflow-wrap: anywhere; }
.badge { flex: none; font-size: 12px; font-weight: 650; padding: 2px 9px; border-radius: 99px; border: 1.5px solid;
  white-space: nowrap; }
.badge.holds { color: var(--good); }
.badge.part { color: var(--middle); }
.badge.fails { color: var(--pos); }
.badge.untested { color: var(--muted); border-style: dashed; }
.quotation figcaption { margin: 0 0 6px; color: var(--text); font-weight: 600; }
.quotation blockquote { font: 15px/1.6 Georgia, "Times New Roman", serif; max-width: 80ch; white-space: pre-line; }
/* Figures are drawn for white paper; here they take the colours of the page. */
.figure svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
.figure svg[fill="#222222"] { fill: var(--ink); }
.figure svg > rect[fill="#ffffff"], .figure svg g > rect[fill="#ffffff"] { fill: var(--surface); }
.figure [stroke="#e4e4e4"] { stroke: var(--grid); }
.figure [stroke="#000000"] { stroke: var(--ink); }
.figure [fill="#000000"] { fill: var(--ink); }
.figure [fill="#666666"] { fill: var(--muted); }
/* The dark ends of the scale for and against, in words and in shapes; pictures are images and stay. */
.figure [fill="#940e1e"], .figure [fill="#a6252c"] { fill: var(--pos); }
.figure [fill="#0a3e86"], .figure [fill="#1e5396"] { fill: var(--neg); }
.figure circle[fill="#ffffff"] { fill: var(--surface); }
@media (max-width: 700px) {
  .top, main { padding-left: 14px; padding-right: 14px; }
  .card { padding: 12px; }
  .wide svg { max-width: none; }
}
@page { margin: 12mm; }
@media print {
  body { background: #fff; font-size: 11px; }
  header { display: none; }
  main { max-width: none; padding: 0; }
  .card { box-shadow: none; break-inside: avoid; padding: 8px 10px; }
  .scroll { overflow: visible; }
  .figure svg { max-width: 100%; }
  .row, .findings { grid-template-columns: 1fr 1fr; }
  .table { break-inside: auto; }
  .lead { font-size: 12px; }
  .facts, .place, .rule, figcaption { font-size: 9px; }
  .measured, pre { font-size: 10px; }
  /* As wide as the paper: cells break at their spaces where they must. */
  table { font-size: 7px; line-height: 1.3; }
  thead th, thead td { font-size: 7px; }
  td small { font-size: 6.4px; }
  th, td { padding: 2px; white-space: normal; }
  tr { break-inside: avoid; }
  h2 { break-after: avoid; font-size: 15px; margin-top: 20px; }
}
)css";
}

}  // namespace glint
