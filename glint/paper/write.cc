#include "glint/paper/write.h"

#include <algorithm>
#include <map>

#include "glint/base/text.h"
#include "glint/base/version.h"
#include "glint/lab/work/result_files.h"
#include "glint/paper/plan.h"
#include "glint/paper/verdicts.h"

namespace glint {
namespace {

void write_table(FileSystem& files, const std::string& stem, const Table& table) {
  write_atomic(files, stem + ".csv", table.csv());
  write_atomic(files, stem + ".json", table.json());
}

void write_files(FileSystem& files, const std::string& folder, const ReportTable& table) {
  write_table(files, folder + "/tables/" + table.name, table.data);
}

void write_files(FileSystem& files, const std::string& folder, const ReportFigure& figure) {
  const std::string stem = folder + "/figures/" + figure.name;
  write_atomic(files, stem + ".svg", figure.svg);
  write_atomic(files, stem + ".csv", figure.csv);
}

void write_files(FileSystem& files, const std::string& folder, const Findings& findings) {
  write_table(files, folder + "/tables/verdicts", findings_table(findings));
}

void write_files(FileSystem&, const std::string&, const auto&) {}

}  // namespace

std::string summary(const Measured& measured, const Findings& findings) {
  const auto count = [&](Verdict v) { return std::to_string(std::ranges::count(findings, v, &Finding::verdict)); };
  const auto own = std::ranges::count(findings, false, &Finding::in_paper);
  std::string out = "Of " + std::to_string(findings.size()) + (findings.size() == 1 ? " claim" : " claims") +
                    (own ? " (" + std::to_string(own) + " of them our own)" : " of the paper") + " **" +
                    count(Verdict::holds) + " hold, " + count(Verdict::in_part) + " hold in part, " +
                    count(Verdict::fails) + " do not hold**; not tested at this scale: " + count(Verdict::not_tested) +
                    ".";
  if (count(Verdict::not_tested) == "0") return out;
  const auto small = std::ranges::count_if(findings, [](const Finding& f) { return !f.small.empty(); });
  out += " Each of those says what was missing or too small" +
         (small ? ", and " + std::to_string(small) + " of them what the smaller data say." : std::string("."));
  if (measured.quick)
    out += " The quick form decides none: that needs the paper's data, all epochs and at least " +
           std::to_string(kEnoughSeeds) + " seeds, as `glint reproduce` without `--quick` has them.";
  return out;
}

namespace {

// What a reader of the paper must know first: whether a norm does what SQS does.
std::string norm_notice(const Findings& findings) {
  for (const Finding& f : findings) {
    if (f.id != "advantage-with-norm" || f.measured == kNotRun) continue;
    const bool small = !f.small.empty();
    const auto is = [&](Verdict v) { return small ? f.small.ends_with(name(v)) : f.verdict == v; };
    if (is(Verdict::fails))
      return std::string(small ? "On small data: " : "") +
             "**With an RMS norm before every layer SQS has no clear advantage over bilinear layers.** " + f.measured +
             ".";
    if (is(Verdict::in_part))
      return std::string(small ? "On small data: " : "") +
             "**With an RMS norm before every layer the advantage of SQS over bilinear layers is gone on one "
             "of the data sets.** " +
             f.measured + ".";
  }
  return "";
}

}  // namespace

Report make_report(const Measured& measured, const Findings& findings) {
  Report report{.title = "The SQS paper and glint, side by side",
                .lead =
                    "Preserving Bilinear Weight Spectra with a Signed and Shrunk Quadratic Activation Function: its "
                    "tables, figures and claims, computed again. Every number below comes from runs in this "
                    "folder; every verdict is a rule applied to those numbers."};
  report.facts = {"glint " + measured.version, measured.cpu, measured.linalg, measured.date,
                  std::to_string(measured.seeds) + (measured.seeds == 1 ? " seed" : " seeds")};
  if (measured.version != kVersion) report.facts.push_back("judged and written by glint " + std::string(kVersion));
  report.notices = measured.notices;
  if (const std::string notice = norm_notice(findings); !notice.empty()) report.notices.push_back(notice);
  if (!findings.empty()) {
    ReportSection verdicts{.id = "verdicts", .title = "Verdicts"};
    verdicts.blocks.push_back(Paragraph{summary(measured, findings)});
    verdicts.blocks.push_back(
        Paragraph{"\"Clearly\" means that the 95 % confidence interval of the paired difference over seeds leaves out "
                  "0. Claims without a number (\"on par\", \"comparable\") got one; it is said below each. Every rule "
                  "is also applied to the numbers that the paper prints, one seed without a spread."});
    verdicts.blocks.push_back(findings);
    report.sections.push_back(std::move(verdicts));
  }
  for (const Experiment& e : chosen_experiments(measured.what)) {
    ReportSection section{.id = e.name, .title = e.title, .nav = e.name};
    e.write(measured, section);
    if (!section.blocks.empty()) report.sections.push_back(std::move(section));
  }
  report.sections.push_back(provenance(measured));
  return report;
}

void write_report(FileSystem& files, const std::string& folder, const Report& report) {
  make_directory(folder + "/tables");
  make_directory(folder + "/figures");
  for (const ReportSection& section : report.sections)
    for (const Block& block : section.blocks) std::visit([&](const auto& b) { write_files(files, folder, b); }, block);
  write_atomic(files, folder + "/report.html", report_html(report));
  write_atomic(files, folder + "/report.md", report_markdown(report));
}

ReportSection provenance(const Measured& m) {
  ReportSection section{.id = "provenance", .title = "Commands, seeds, machines", .nav = "provenance"};
  Table runs({{.header = "run"},
              {.header = "command"},
              {.header = "seed"},
              {.header = "steps"},
              {.header = "seconds"},
              {.header = "version", .text = true},
              {.header = "cpu"},
              {.header = "precision"},
              {.header = "data_checksum"},
              {.header = "state"}});
  std::map<std::string, size_t> machines;
  double seconds = 0;
  size_t finished = 0;
  for (const MeasuredRun& run : m.runs) {
    const bool known = run.finished();
    runs.add({run.path, run.command, std::to_string(run.seed), known ? std::to_string(run.steps) : "",
              known ? number_text(run.seconds) : "", run.version, run.cpu, run.precision, run.data_checksum,
              run.state});
    if (!known) continue;
    finished++;
    seconds += run.seconds;
    machines[run.cpu + ", " + run.precision + ", glint " + run.version]++;
  }
  section.blocks.push_back(Paragraph{"This report was made by:"});
  section.blocks.push_back(Commands{{m.command}});
  if (finished == 0) return section;
  section.blocks.push_back(Paragraph{std::to_string(finished) + " of " + std::to_string(m.runs.size()) +
                                     " runs are finished, " + duration_text(seconds) +
                                     " of training in all, side by side where there are several cores. Trained on:"});
  std::vector<std::string> lines;
  for (const auto& [machine, n] : machines) lines.push_back(std::to_string(n) + " runs: " + machine);
  section.blocks.push_back(Commands{lines});
  // A line per group; every run is in the file.
  ReportTable table{
      .name = "runs",
      .caption =
          "Groups of runs and the command of the first of each; all of them with checksums and "
          "times are in the files.",
      .heads = {{.text = "group", .align = Align::left}, {.text = "runs"}, {.text = "command", .align = Align::left}},
      .data = runs};
  for (size_t i = 0; i < m.runs.size();) {
    size_t n = i;
    while (n < m.runs.size() && m.runs[n].group == m.runs[i].group) n++;
    table.rows.push_back({{{m.runs[i].group}, {std::to_string(n - i)}, {"`" + m.runs[i].command + "`"}}});
    i = n;
  }
  section.blocks.push_back(std::move(table));
  return section;
}

}  // namespace glint
