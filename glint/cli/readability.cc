// glint readability: a few numbers that say how readable the weights of runs are.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "glint/base/statistics.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/verbs.h"
#include "glint/data/dataset.h"
#include "glint/lab/study/readability.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

// The measures in the order of the tables.
struct MeasuredRun {
  std::string header;
  int decimals;
  std::optional<double> (*value)(const RunReadability&);
};
const MeasuredRun kMeasured[] = {{"pictures", 1, [](const RunReadability& r) { return r.distinct_pictures; }},
                                 {"AUC", 3, [](const RunReadability& r) { return r.auc; }},
                                 {"abl. r", 3, [](const RunReadability& r) { return std::optional(r.ablation_r); }},
                                 {"slope", 3, [](const RunReadability& r) { return std::optional(r.ablation_slope); }},
                                 {"halves", 3, [](const RunReadability& r) { return r.stability_halves; }},
                                 {"seeds", 3, [](const RunReadability& r) { return r.stability_seeds; }}};

// Whether all runs are read by the same form: then a line says it, not a column.
bool common_form(const ReadabilityResult& result) {
  return std::ranges::all_of(result.runs, [&](const RunReadability& r) { return r.form == result.runs[0].form; });
}

std::string run_table(const ReadabilityResult& result) {
  const bool one_form = common_form(result);
  std::vector<Column> columns = {{.header = "run"}, {.header = "gate"}};
  if (!one_form) columns.push_back({.header = "form"});
  for (const MeasuredRun& m : kMeasured) columns.push_back({.header = m.header, .align = Align::right});
  Table table(columns);
  for (const RunReadability& r : result.runs) {
    std::vector<std::string> cells = {r.run, r.gate};
    if (!one_form) cells.push_back(name(r.form));
    for (const MeasuredRun& m : kMeasured) {
      const std::optional<double> v = m.value(r);
      cells.push_back(v ? fixed_text(*v, m.decimals) : "-");
    }
    table.add(cells);
  }
  return table.terminal(result_columns());
}

// A row per group of seeds.
std::string group_table(const ReadabilityResult& result) {
  std::vector<Column> columns = headers({"runs", "gate"}, {"n"});
  for (const MeasuredRun& m : kMeasured) columns.push_back({.header = m.header, .align = Align::right});
  Table table(columns);
  for (const SeedGroup& g : result.groups) {
    const RunReadability& first = result.runs[g.runs[0]];
    std::vector<std::string> cells = {first.run + " …", first.gate, std::to_string(g.runs.size())};
    for (const MeasuredRun& m : kMeasured) {
      std::vector<double> values;
      for (const size_t i : g.runs)
        if (const std::optional<double> v = m.value(result.runs[i])) values.push_back(*v);
      const MeanAndSd s = mean_and_sd(values);
      cells.push_back(values.empty() ? "-" : fixed_text(s.mean, m.decimals) + " ± " + fixed_text(s.sd, m.decimals));
    }
    table.add(cells);
  }
  return table.terminal(result_columns());
}

void report_text(Context& context, const ReadabilityResult& result) {
  std::ostream& out = context.out;
  if (common_form(result)) out << "form: " << name(result.runs[0].form) << "\n\n";
  out << run_table(result);
  if (!result.groups.empty())
    out << "\nRuns that differ in their seed alone, mean ± sd over n seeds.\n" << group_table(result);
  size_t pictures = 0;
  bool language = false;
  for (const RunReadability& r : result.runs)
    pictures = std::max(pictures, r.pictures), language = language || r.kind == ModelKind::language;
  out << "\n";
  if (pictures > 0)
    out << "pictures: how many different pictures the eigenvectors show, of " << pictures << "\n"
        << "AUC:      how well two eigenvectors alone tell a class from the rest\n";
  out << "abl. r, slope: eigenvectors removed, true change against predicted\n"
         "halves, seeds: how alike the eigenvectors are with another half of the\n"
         "          calibration data, or another seed; -: nothing is fitted, one seed\n"
         "More is better; the best is 1 but for pictures. A guess has an AUC of 0.5.\n";
  if (language) out << "Language models have no classes and no pictures: '-'. Tokens are read instead.\n";
}

void run_readability(Context& context, const ReadabilityRequest& request) {
  const ReadabilityResult result = readability(engine_of(context), request);
  context.next = {"glint ablate " + result.runs[0].run};
  context.shared.json ? context.print_json(to_json(result)) : report_text(context, result);
}

}  // namespace

void add_readability(Program& program) {
  Verb& verb = program.add(
      {.name = "readability",
       .group = Group::read,
       .summary = "how readable the weights of runs are, in a few numbers",
       .details = "Measures that order models as looking at their eigenvectors does. All look at the leading "
                  "eigenvectors of each class: the two strongest that speak for it and the strongest against it. "
                  "More is better for all.\n\n"
                  "pictures: the number of distinct pictures among them, from 1 (all the same) to 3 times the "
                  "classes (no two alike).\n\n"
                  "AUC: how well the strongest eigenvector for and the strongest against a class, without the rest "
                  "of the model, tell its images from all others: the chance that an image of the class scores "
                  "higher. 1 is always, 0.5 is a guess. Mean over the classes.\n\n"
                  "abl. r and slope: each class's leading eigenvectors are removed from the input of the layer. r "
                  "is the correlation of the true change of its logit with the change that the reading predicts, "
                  "slope the share of the predicted change that comes. 1 and 1 is best: the eigenvectors are how "
                  "the model works. Means over the classes.\n\n"
                  "halves: the form is fitted on one half of the calibration data and on the other; how alike "
                  "(|cos|) the pictures are. '-' where nothing is fitted. seeds: the same between runs that differ "
                  "in their seed alone, when several are given. 1 is the same; below, what one sees is partly "
                  "chance.\n\n"
                  "Language models have no classes and no pictures: their directions are the most frequent tokens "
                  "or those of --token, ablation and stability are measured, the rest is '-'.",
       .examples = {{"glint readability runs/first", "one run"},
                    {"glint readability runs/sqs runs/identity",
                     "two folders with one run per seed: all runs, means, and how alike the seeds are"},
                    {"glint readability runs/sqs --form weights --json", "the paper's form, for a program"},
                    {"glint readability runs/stories --layer 2", "a language model"},
                    {"glint readability stories15M.bin --layer 2", "a model of another program"}}});
  const auto o = std::make_shared<ReadabilityRequest>();
  verb.add(fields_of(*o));
  verb.share_engine();
  verb.run([o](Context& context) { run_readability(context, *o); });
}

}  // namespace glint::cli
