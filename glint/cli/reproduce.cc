// glint reproduce: the experiments of the paper, and a report that puts the paper and glint side by side.
#include <memory>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/sharing_options.h"
#include "glint/cli/stop.h"
#include "glint/cli/verbs.h"
#include "glint/data/dataset.h"
#include "glint/paper/plan.h"
#include "glint/paper/reproduce.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct ReproduceFlags {
  ReproduceRequest request;
  std::string data;
  SharingFlags sharing;
  bool list = false;
};

std::vector<std::string> data_names(const std::string& text) {
  std::vector<std::string> words = split(text, ',');
  std::erase(words, "");
  if (words.empty() && !text.empty())
    bad_argument("--data " + text, "no data set is named", "names with commas between: mnist, fashion-mnist, glyphs");
  return words;
}

// What the paper writes about its formulas: statements that were computed, not claims with a rule.
std::string formulas_text(const ReproduceResult& result) {
  Table table({{.header = "the paper says", .max_width = 50},
               {.header = "place", .max_width = 18},
               {.header = "so", .max_width = 18}});
  for (const FormulaFinding& f : result.formulas) table.add({f.statement, f.place, std::string(name(f.verdict))});
  return table.rows() ? table.terminal(result_columns()) + "\n" : "";
}

void print(Context& context, const ReproduceResult& result) {
  if (context.shared.json) return context.print_json(to_json(result));
  const std::string files = "report: " + result.folder + "/report.html, report.md, tables/, figures/\n";
  if (result.findings.empty()) {
    context.out << formulas_text(result) << prose(files, result_columns());
    return;
  }
  Table table({{.header = "claim", .max_width = 44},
               {.header = "verdict", .max_width = 26},
               {.header = "the paper's numbers", .max_width = 14},
               {.header = "why not", .max_width = 44}});
  for (const Finding& f : result.findings)
    table.add({f.quote, f.small.empty() ? std::string(name(f.verdict)) : f.small, f.paper, f.why});
  std::string words = result.summary;
  std::erase_if(words, [](char c) { return c == '*' || c == '`'; });
  context.out << table.terminal(result_columns()) << prose("\n" + words + "\n" + files, result_columns());
}

void run(Context& context, const ReproduceFlags& o) {
  ReproduceRequest request = o.request;
  request.data = data_names(o.data);
  request.sharing = parse_sharing(context, o.sharing);
  if (request.judge_only && (request.sharing.shard.of > 1 || request.sharing.join))
    bad_argument(o.sharing.join ? "--join" : "--shard " + o.sharing.shard,
                 "--judge-only trains nothing that could be shared", "a share trains and makes no report");
  const auto display = std::make_shared<Display>(context);
  const Engine engine = engine_of(context, display);
  if (o.list) {
    const std::vector<PlannedJob> jobs = planned_jobs(engine, request);
    if (context.shared.json) return context.print_json(to_json(jobs));
    for (const PlannedJob& job : jobs) context.out << train_command(job.train) << "\n";
    return;
  }
  const StopOnSignal guard;
  const ReproduceResult result = reproduce(engine, request,
                                           {.progress = [&](const ProgressReport& p) { display->progress(p); },
                                            .line = [&](const std::string& text) { display->line(text); },
                                            .note = [&](const std::string& text) { display->note(text); }});
  display->finish();
  if (!result.folder.empty()) return print(context, result);
  context.out << share_trained(request.sharing, result.left, request.out + "/runs");
}

}  // namespace

void add_reproduce(Program& program) {
  Verb& verb = program.add(
      {.name = "reproduce",
       .group = Group::paper,
       .summary = "the paper's experiments, and what becomes of its claims",
       .details = "Trains what is missing, several runs side by side, and writes a report (HTML and Markdown) with "
                  "the paper's numbers beside ours, every table as CSV and JSON, every figure as SVG and CSV. "
                  "Finished runs in OUT/runs are used again; Ctrl-C saves, and the same command goes on. What was "
                  "measured is kept in OUT/measured.json, from which --judge-only makes the report again.\n\n"
                  "Every claim gets a verdict, or the reason why these runs cannot give one. A claim is judged only "
                  "where its experiment was as large as the paper's: on MNIST and Fashion-MNIST "
                  "(scripts/fetch-data), on stories (--stories), with all epochs and at least three seeds. --quick "
                  "decides none, and neither do the built-in data: they show in minutes that everything works, and "
                  "of each claim what the small data say.",
       .examples = {
           {"glint reproduce --quick --out quick", "a small version of everything, five minutes; no verdicts"},
           {"glint reproduce table1 --seeds 3 --out paper", "one table, three seeds"},
           {"glint reproduce all --stories corpus --out paper", "everything: some hours on two cores"},
           {"glint reproduce all --shard 2/4 --out paper", "the second of four machines trains its share"},
           {"glint reproduce all --join --out paper", "on every machine that sees the folder: they share the runs"},
           {"glint reproduce all --list --out paper", "a training command per line, for other tools"}}});
  const auto o = std::make_shared<ReproduceFlags>();
  std::vector<std::string> words = {"all"};
  for (const Experiment& e : experiments()) words.push_back(e.name);
  verb.add(Field("what", o->request.what,
                 "all (the default), or one experiment: table1, fig1, fig2, fig3, spectra, explain, "
                 "timing, stories, fidelity, depth, choice, norm, language, formulas")
               .one_of(words)
               .argument("WHAT"));
  verb.add(Field("quick", o->request.quick, "Few epochs and two seeds: minutes, not hours. The report says so"));
  verb.add(Field("seeds", o->request.seeds,
                 "Runs of each gate; 0: five, with --quick two. Where the paper says nothing, at most 3")
               .range(0, 100));
  verb.add(Field("data", o->data, "Image sets, with commas between; mnist,fashion-mnist when not given")
               .shown("LIST")
               .suggest(dataset_names()));
  verb.add(Field("stories", o->request.stories, "Corpus that glint tokenize made; the built-in tales when not given")
               .directory("DIR"));
  add_sharing(verb, o->sharing);
  verb.add(Field("list", o->list, "Train nothing: print what is left, one glint train command per line"));
  verb.add(Field("judge_only", o->request.judge_only,
                 "No run: judge and write the report again from the measured.json of an earlier call"));
  verb.add(Field("data_dir", o->request.data_dir, "Look for the data here first").directory());
  verb.add(Field("out", o->request.out, "Folder of the runs and the report").directory());
  verb.share({"precision"});
  verb.share_engine();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
