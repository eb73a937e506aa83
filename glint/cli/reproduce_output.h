// The files of a reproduction: the report, its tables and figures, and where everything comes from.
#pragma once

#include "glint/cli/reproduce_lab.h"

namespace glint::cli {

// report.html, report.md (with the suffix of a part), tables/, figures/.
void write_report(const Lab& lab, const Report& report);

// Machines, versions, times and the command of every run.
ReportSection provenance(const Lab& lab, const std::vector<PlannedRun>& plan, const std::string& command);

}  // namespace glint::cli
