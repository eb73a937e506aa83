// The sections of the report, each from what was measured and nothing else. A section without numbers stays
// empty.
#pragma once

#include "glint/paper/measured.h"
#include "glint/report/report_page.h"

namespace glint {

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

}  // namespace glint
