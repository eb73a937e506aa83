#include "glint/cli/reproduce_output.h"

#include <map>

#include "glint/base/file.h"
#include "glint/lab/opened_run.h"
#include "glint/lab/run_checks.h"

namespace glint::cli {
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

std::string text_of(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) return "";
  const Json& v = object[key];
  return v.is_string() ? printable(v.get<std::string>()) : v.dump();
}

}  // namespace

void write_report(FileSystem& files, const std::string& folder, const Report& report) {
  make_directory(folder + "/tables");
  make_directory(folder + "/figures");
  for (const ReportSection& section : report.sections)
    for (const Block& block : section.blocks)
      std::visit([&](const auto& b) { write_files(files, folder, b); }, block);
  write_atomic(files, folder + "/report.html", report_html(report));
  write_atomic(files, folder + "/report.md", report_markdown(report));
}

ReportSection provenance(const Lab& lab, const std::string& command) {
  const std::vector<PlannedRun>& plan = lab.plan;
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
  for (const PlannedRun& run : plan) {
    const std::string directory = lab.directory(run);
    if (!run_finished(directory)) {
      runs.add({run.path(), run.command(lab.out), std::to_string(run.options.seed), "", "", "", "", "", "",
                run_failed(directory) ? "failed" : "not run"});
      continue;
    }
    const Json json = read_run_file(directory).json;
    const Json machine = json.value("machine", Json::object());
    finished++;
    seconds += json.value("seconds", 0.0);
    machines[text_of(machine, "cpu") + ", " + text_of(machine, "precision") + ", glint " +
             text_of(machine, "version")]++;
    runs.add({run.path(), run.command(lab.out), std::to_string(run.options.seed), text_of(json, "steps"),
              text_of(json, "seconds"), text_of(machine, "version"), text_of(machine, "cpu"),
              text_of(machine, "precision"), text_of(json.value("data", Json::object()), "checksum"),
              "finished"});
  }
  section.blocks.push_back(Paragraph{"This report was made by:"});
  section.blocks.push_back(Commands{{command}});
  if (finished == 0) return section;
  section.blocks.push_back(
      Paragraph{std::to_string(finished) + " of " + std::to_string(plan.size()) + " runs are finished, " +
                duration_text(seconds) +
                " of training in all, side by side where there are several cores. Trained on:"});
  std::vector<std::string> lines;
  for (const auto& [machine, n] : machines) lines.push_back(std::to_string(n) + " runs: " + machine);
  section.blocks.push_back(Commands{lines});
  // A line a group; every run is in the file.
  ReportTable table{.name = "runs",
                    .caption =
                        "Groups of runs and the command of the first of each; all of them with checksums and "
                        "times are in the files.",
                    .heads = {{.text = "group", .align = Align::left},
                              {.text = "runs"},
                              {.text = "command", .align = Align::left}},
                    .data = runs};
  for (size_t i = 0; i < plan.size();) {
    size_t n = i;
    while (n < plan.size() && plan[n].group == plan[i].group) n++;
    table.rows.push_back(
        {{{plan[i].group}, {std::to_string(n - i)}, {"`" + plan[i].command(lab.out) + "`"}}});
    i = n;
  }
  section.blocks.push_back(std::move(table));
  return section;
}

}  // namespace glint::cli
