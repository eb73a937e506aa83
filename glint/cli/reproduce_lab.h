// What the experiments of `glint reproduce` share: the plan, the places of the files, the data, the finished
// runs and what has been measured so far.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glint/cli/reproduce_plan.h"
#include "glint/cli/verb.h"
#include "glint/lab/jobs.h"
#include "glint/lab/engine.h"
#include "glint/report/measured.h"
#include "glint/report/report_page.h"

namespace glint::cli {

struct ModelReading;  // reproduce_reading.h

struct Lab {
  Context& context;
  const PlanSetup& setup;
  std::string out;
  TrainingData& data;
  const Engine& engine;
  const std::vector<PlannedRun>& plan;
  Progress* progress = nullptr;  // of the analysis
  Measured measured = {};
  std::map<std::string, std::shared_ptr<const ModelReading>> readings = {};  // by directory

  std::string directory(const PlannedRun& run) const { return out + "/runs/" + run.path(); }
};

// One experiment: the runs that it needs, and the section of the report that it writes.
struct Experiment {
  std::string name;   // as on the command line
  std::string title;  // of its section
  std::vector<PlannedRun> (*runs)(const PlanSetup&);
  void (*write)(Lab&, ReportSection&);
};
const std::vector<Experiment>& experiments();

// Trains what is not finished: `shard` only its share. Stops at a signal with an Error (interrupted). A run
// whose numbers blow up is kept as failed and does not stop the others.
void train_plan(Context& context, const Engine& engine, TrainingData& data, const std::string& out,
                const std::vector<PlannedRun>& plan, Shard shard);
// Ended in numbers that are not finite.
bool run_failed(const std::string& directory);
bool run_finished(const std::string& directory);

// The sections; each in the file of its subject.
void write_gates(Lab& lab, ReportSection& section);
void write_figure2(Lab& lab, ReportSection& section);
void write_figure3(Lab& lab, ReportSection& section);
void write_table1(Lab& lab, ReportSection& section);
void write_spectra(Lab& lab, ReportSection& section);
void write_explanation(Lab& lab, ReportSection& section);
void write_timing(Lab& lab, ReportSection& section);
void write_stories(Lab& lab, ReportSection& section);
void write_fidelity(Lab& lab, ReportSection& section);
void write_depth(Lab& lab, ReportSection& section);

// Fill lab.measured from finished runs, once.
void collect_stories(Lab& lab);
void collect_spectra(Lab& lab);

// How a plan is less than the paper's experiment; empty: it is not.
std::string smaller_images(const PlanSetup& setup, const std::string& data);

}  // namespace glint::cli
