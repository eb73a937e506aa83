// The report of a reproduction, from what was measured and what was found, and its files.
#pragma once

#include "glint/base/file.h"
#include "glint/paper/measured.h"
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

}  // namespace glint
