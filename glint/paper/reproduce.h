// The paper's experiments from nothing to the report: plan, train, measure, judge, write.
//
//   const glint::ReproduceResult r = glint::reproduce(engine, {.quick = true, .out = "quick"});
//
// OUT/runs has the runs, OUT/measured.json what was measured, OUT/report.html the rest. A part has a folder
// of its own, OUT/PART, and leaves the files of the whole alone.
#pragma once

#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/work/engine.h"
#include "glint/paper/formulas.h"
#include "glint/paper/measure.h"
#include "glint/paper/plan.h"
#include "glint/report/report_page.h"

namespace glint {

struct ReproduceRequest {
  std::string what = "all";            // or one experiment: experiments.h
  bool quick = false;                  // few epochs and two seeds
  size_t seeds = 0;                    // runs of each gate; 0: five, with quick two
  std::vector<std::string> data = {};  // image sets; empty: those of the paper, with quick those that are here
  std::string stories = {};            // folder of a corpus; "": the built-in tales
  std::string data_dir = {};           // looked in first
  std::string out = "reproduction";
  Sharing sharing = {};     // train only a share, or with others; no report unless all is trained
  bool judge_only = false;  // no run: judge and write again what measured.json has
};

struct ReproduceResult {
  std::string folder;  // of the report; "" when only a share was trained
  size_t left = 0;     // runs that other workers still train
  std::string linalg;  // what computed the numbers
  Findings findings;
  std::string summary;                        // of the findings; **strong** and `code` as in Markdown
  std::vector<FormulaFinding> formulas = {};  // what the paper writes about its formulas, where it was computed
  size_t decided() const;                     // claims of the paper that got a verdict
};

// What would be trained, each run to be trained alone; those that are finished or diverged are left out.
std::vector<PlannedJob> planned_jobs(const Engine& engine, const ReproduceRequest& request);

// Error (interrupted) when the engine is asked to stop; the same request goes on from there.
ReproduceResult reproduce(const Engine& engine, const ReproduceRequest& request, const PaperHooks& hooks = {});

OrderedJson to_json(const ReproduceResult& result);  // "glint-reproduce/1"

}  // namespace glint
