// The files of a reproduction: the report, its tables and figures, and where everything comes from.
#pragma once

#include "glint/cli/reproduce_lab.h"

namespace glint::cli {

// report.html, report.md, tables/, figures/ in a folder.
void write_report(FileSystem& files, const std::string& folder, const Report& report);

// Machines, versions, times and the command of every run.
ReportSection provenance(const Lab& lab, const std::string& command);

}  // namespace glint::cli
