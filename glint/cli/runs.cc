// glint runs: what is in folders of runs, as a table and as curves.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/stop.h"
#include "glint/cli/target.h"
#include "glint/cli/verbs.h"
#include "glint/lab/models/run.h"
#include "glint/lab/work/runs.h"

namespace glint::cli {
namespace {

struct RunsFlags : RunsRequest {
  bool csv = false;
};

// RunsFlags that all runs share are said once.
std::string common_text(const RunsResult& r) {
  std::string out;
  const auto known = std::find_if(r.runs.begin(), r.runs.end(), [](const RunSummary& s) { return !s.options.empty(); });
  if (known == r.runs.end()) return out;
  for (const char* key : {"data", "gate", "layers", "d-model", "norm", "batch", "epochs"})
    if (const std::string* value = known->option(key);
        value && std::find(r.differing.begin(), r.differing.end(), key) == r.differing.end())
      out += (out.empty() ? "" : ", ") + std::string(key) + " " + *value;
  return out;
}

void print(Context& context, const RunsFlags& o, const RunsResult& r) {
  if (context.shared.json) return context.print_json(to_json(r));
  if (o.csv) {
    context.out << runs_table(r, TableFor::programs).csv();
    return;
  }
  if (r.runs.empty()) {
    context.out << "None of the " << r.found << " runs passes the filters.\n";
    return;
  }
  context.out << runs_table(r).terminal(result_columns());
  const std::string common = common_text(r);
  if (!common.empty())
    context.out << prose((r.runs.size() == 1 ? "options: " : "the same in all: ") + common + "\n", result_columns());
  if (r.runs.size() < r.found) context.out << r.runs.size() << " of " << r.found << " runs\n";
  if (!r.figure.empty()) context.out << "figure: " << r.figure << "\n";
}

void run(Context& context, const RunsFlags& o) {
  if (o.folders.empty())
    bad_argument("glint runs", "no folder is given", "folders with runs in them", "glint runs runs");
  if (o.csv && context.shared.json) bad_argument("--csv", "--csv and --json exclude each other", "one of them");
  if (!o.figure.empty()) check_target(o.figure, ".svg", "--figure", "the figure");
  const Engine engine = engine_of(context);
  const StopOnSignal guard;
  const RunsResult r = list_runs(engine, o);
  for (const std::string& note : r.notes) context.say("note: " + note);
  print(context, o, r);
  const auto damaged = std::ranges::find(r.runs, RunState::damaged, &RunSummary::state);
  if (damaged == r.runs.end()) return;
  context.flush_results();
  const auto count = std::ranges::count(r.runs, RunState::damaged, &RunSummary::state);
  bad_file(printable(damaged->directory) + (count == 1 ? "" : " and others"),
           std::to_string(count) + (count == 1 ? " run is damaged" : " runs are damaged"), "runs as glint wrote them",
           "the command that trained a run mends what it can; `where=state!=damaged` leaves damaged runs out");
}

}  // namespace

void add_runs(Program& program) {
  Verb& verb = program.add(
      {.name = "runs",
       .group = Group::train,
       .summary = "a table of runs: how they differ, how far they are, what came out",
       .details = "Lists the runs in folders, at any depth: the options in which they differ, the results, and the "
                  "state: finished, running, stopped (the training command goes on from that step), diverged, "
                  "damaged (the exit code is then 3), or imported (weights without a record of a training). "
                  "--figure draws their losses over the steps; runs that differ in the seed alone are one curve "
                  "with a band.\n\n"
                  "--where keeps the runs for which all conditions hold, --sort orders them. Both know the options "
                  "of glint train by their names, and run, state, loss, accuracy, train-loss, time and step.",
       .examples = {{"glint runs runs", "all runs in the folder runs"},
                    {"glint runs sweep/runs --where gate=sqs --where 'lambda>=0.1' --sort loss",
                     "the SQS runs with a shrink, the lowest loss first"},
                    {"glint runs runs --sort -accuracy --csv", "the best first, as CSV"},
                    {"glint runs sweep/runs --where norm=rms --figure curves.svg", "curves in one figure"}}});
  const auto o = std::make_shared<RunsFlags>();
  verb.add(fields_of(*o));
  verb.add(Field("csv", o->csv, "Print the table as CSV"));
  verb.share({"json", "quiet"});
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
