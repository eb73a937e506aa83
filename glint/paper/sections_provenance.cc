// Where everything comes from: the last section of the report.
#include <map>

#include "glint/base/duration.h"
#include "glint/base/text.h"
#include "glint/paper/write.h"

namespace glint {

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
