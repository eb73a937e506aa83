// The report of a reproduction, from what was measured and what was found, and its files.
#pragma once

#include "glint/base/file.h"
#include "glint/paper/measured.h"
#include "glint/report/chart.h"
#include "glint/report/report_page.h"

namespace glint {

// "Of 20 claims (3 of them our own) **5 hold, ...": as many as there are findings; and what would decide the
// rest.
std::string summary(const Measured& measured, const Findings& findings);

// What became of the claims first, then a section per experiment, then where everything comes from. Reads no
// run.
Report make_report(const Measured& measured, const Findings& findings);

// report.html, report.md, tables/, figures/ in a folder.
void write_report(FileSystem& files, const std::string& folder, const Report& report);

// The sections of the report, each from what was measured and nothing else. A section without numbers stays
// empty.

void write_gates(const Measured& m, ReportSection& section);
void write_figure2(const Measured& m, ReportSection& section);
void write_figure3(const Measured& m, ReportSection& section);
void write_table1(const Measured& m, ReportSection& section);
void write_spectra(const Measured& m, ReportSection& section);
void write_explanation(const Measured& m, ReportSection& section);
void write_timing(const Measured& m, ReportSection& section);
void write_stories(const Measured& m, ReportSection& section);
void write_fidelity(const Measured& m, ReportSection& section);
void write_depth(const Measured& m, ReportSection& section);
void write_formulas(const Measured& m, ReportSection& section);
void write_norm(const Measured& m, ReportSection& section);
void write_choices(const Measured& m, ReportSection& section);
void write_language(const Measured& m, ReportSection& section);
// Machines, versions, times and the command of every run.
ReportSection provenance(const Measured& m);

// Figures of training runs: curves with the spread over seeds, and accuracy over depth.

// Figure 3 of the paper: the loss (log) over steps, and the metric over steps (log). Line: mean over seeds at
// the steps that all seeds were evaluated at; band: one standard deviation.
Chart loss_figure(const TaskRuns& task);
Chart metric_figure(const TaskRuns& task);

// Accuracy at the end over the number of layers, one line per gate.
Chart depth_figure(const std::vector<DepthPoint>& points, const std::string& data, const std::string& norm = "none");

// One colour and stroke a gate, everywhere.
Series gate_series(std::string_view gate);
// A chart as a part of a section.
ReportFigure report_figure(const std::string& name, const std::string& caption, const Chart& chart);

}  // namespace glint
