// The paper's experiments, one line each: what they train, what is measured of it, and the section of the
// report that shows it.
#pragma once

#include <string>
#include <vector>

#include "glint/paper/measured.h"
#include "glint/paper/plan.h"
#include "glint/report/report_page.h"

namespace glint {

struct Measuring;  // measuring.h

struct Experiment {
  std::string name;          // "table1"
  std::string title;         // of its section
  std::vector<RunSet> runs;  // what it needs
  std::vector<void (*)(Measuring&)> measure;
  void (*write)(const Measured&, ReportSection&);
};
const std::vector<Experiment>& experiments();

// "all", or one by its name; Error (usage) for another word.
std::vector<Experiment> chosen_experiments(const std::string& what);

}  // namespace glint
