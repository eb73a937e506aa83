// glint reproduce: the experiments of the paper, and a report that puts the paper and glint side by side.
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/version.h"
#include "glint/cli/engine_of.h"
#include "glint/lab/run.h"
#include "glint/cli/reproduce_output.h"
#include "glint/lab/run_checks.h"
#include "glint/cli/stop.h"
#include "glint/cli/verbs.h"
#include "glint/report/verdicts.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string what = "all", data, stories, shard, data_dir;
  size_t seeds = 0;
  bool quick = false;
};

std::vector<PlannedRun> both(const PlanSetup& s, std::vector<PlannedRun> (*a)(const PlanSetup&),
                             std::vector<PlannedRun> (*b)(const PlanSetup&)) {
  std::vector<PlannedRun> runs = a(s);
  for (PlannedRun& r : b(s)) runs.push_back(std::move(r));
  return runs;
}

std::vector<PlannedRun> no_runs(const PlanSetup&) { return {}; }
std::vector<PlannedRun> runs_table1(const PlanSetup& s) { return both(s, runs_42, runs_stories); }

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

// The data sets to train on, and what the reader of the report must know about them.
std::vector<std::string> choose_images(const Options& o, std::vector<std::string>& notices) {
  if (!o.data.empty()) {
    const std::vector<std::string> words = split(o.data);
    if (words.empty())
      throw Error({.code = ErrorCode::usage,
                   .what = "no data set is named",
                   .where = "--data " + o.data,
                   .expected = "names with commas between: mnist, fashion-mnist, glyphs"});
    for (const std::string& w : words)
      if (w.find('/') != w.npos)
        throw Error({.code = ErrorCode::usage,
                     .what = "'" + w + "' is not the name of a data set",
                     .where = "--data",
                     .expected = "names with commas between: mnist, fashion-mnist, glyphs",
                     .hint = "--data-dir for the folder that they are in"});
    return words;
  }
  const std::vector<std::string> paper = {"mnist", "fashion-mnist"};
  if (!o.quick) return paper;
  // The quick form works with what is there.
  DataOptions options;
  options.paths = data_paths_from_environment(o.data_dir);
  std::vector<std::string> found;
  for (const DatasetStatus& s : list_datasets(options))
    if (s.state == DataState::verified && std::find(paper.begin(), paper.end(), s.name) != paper.end())
      found.push_back(s.name);
  if (found.empty()) {
    notices.push_back(
        "MNIST and Fashion-MNIST are not on this machine (`scripts/fetch-data` gets them): the "
        "built-in `glyphs` stand in for them.");
    found = {"glyphs"};
  } else if (found.size() < paper.size()) {
    notices.push_back("Of MNIST and Fashion-MNIST only " + found.front() + " is on this machine.");
  }
  return found;
}

void check_stories(const std::string& folder) {
  if (folder != kTales && is_text_data(folder)) return;
  throw Error({.code = ErrorCode::usage,
               .what = "'" + printable(folder) + "' is not a corpus of stories",
               .where = "--stories",
               .expected = "a folder that glint tokenize made",
               .hint = "glint tokenize TRAIN.txt --valid VALID.txt --out corpus, then --stories corpus"});
}

// How the models of a plan are less than the paper's; empty: they are not.
std::string smaller_models(const PlanSetup& setup) {
  for (const std::string& data : setup.images)
    if (const std::string why = smaller_images(setup, data); !why.empty()) return why;
  return setup.seeds < kEnoughSeeds ? std::to_string(setup.seeds) + " seeds" : "";
}

PlanSetup make_setup(const Options& o, TrainingData& data, std::string_view precision,
                     std::vector<std::string>& notices) {
  PlanSetup setup;
  setup.quick = o.quick;
  setup.seeds = o.seeds ? o.seeds : o.quick ? 2 : 5;
  setup.images = choose_images(o, notices);
  if (!o.stories.empty()) {
    check_stories(o.stories);
    setup.stories = o.stories;
    setup.all_stories = data.text(o.stories)->train.stories() >= kPaperStories / 2;
  }
  setup.precision = precision;
  if (o.quick)
    notices.insert(
        notices.begin(),
        "This is the quick form: " + std::to_string(setup.seeds) + (setup.seeds == 1 ? " seed" : " seeds") +
            " and a fraction of the epochs. It shows that everything works and how it looks; its numbers "
            "are not those of the paper's experiments. Leave out `--quick` for those.");
  const bool stories = o.what == "all" || o.what == "table1" || o.what == "stories";
  if (stories && setup.stories == kTales)
    notices.push_back(
        "No corpus of stories was given (`--stories DIR`): the language models are trained on the "
        "built-in tales, which the paper's numbers do not apply to.");
  return setup;
}

// The union of the runs, each once.
std::vector<PlannedRun> make_plan(const PlanSetup& setup, const std::vector<Experiment>& chosen) {
  std::vector<PlannedRun> plan;
  for (const Experiment& e : chosen)
    for (PlannedRun& run : e.runs(setup))
      if (std::none_of(plan.begin(), plan.end(), [&](const PlannedRun& p) { return p.path() == run.path(); }))
        plan.push_back(std::move(run));
  return plan;
}

std::string command_text(const Options& o, const std::string& precision, const std::string& out) {
  std::string text = "glint reproduce " + o.what;
  if (o.quick) text += " --quick";
  if (o.seeds) text += " --seeds " + std::to_string(o.seeds);
  if (!o.data.empty()) text += " --data " + o.data;
  if (!o.stories.empty()) text += " --stories " + o.stories;
  if (!o.data_dir.empty()) text += " --data-dir " + o.data_dir;
  if (precision != "f32") text += " --precision " + precision;
  return text + " --out " + out;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

// "Of 12 claims of the paper 5 hold, ...", and what would decide the rest.
std::string summary(const Findings& findings, bool quick) {
  const auto count = [&](Verdict v) {
    return std::to_string(std::count_if(findings.begin(), findings.end(),
                                        [&](const Finding& f) { return f.in_paper && f.verdict == v; }));
  };
  const auto all =
      std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.in_paper; });
  std::string out = "Of " + std::to_string(all) + " claims of the paper **" + count(Verdict::holds) +
                    " hold, " + count(Verdict::in_part) + " hold in part, " + count(Verdict::fails) +
                    " do not hold**; not tested at this scale: " + count(Verdict::not_tested) + ".";
  if (count(Verdict::not_tested) == "0") return out;
  out +=
      " Each of those says what was missing or too small, and what its numbers would say by themselves "
      "where there are some.";
  if (quick)
    out +=
        " The quick form decides none: that needs the paper's data, all epochs and at "
        "least " +
        std::to_string(kEnoughSeeds) + " seeds, as `glint reproduce` without `--quick` has them.";
  return out;
}

// Order of the report: what became of the claims first.
Report make_report(Lab& lab, const Options& o, const std::vector<Experiment>& chosen,
                   const std::vector<std::string>& notices, Findings& findings) {
  Report report{
      .title = "The SQS paper and glint, side by side",
      .lead =
          "Preserving Bilinear Weight Spectra with a Signed and Shrunk Quadratic Activation Function: its "
          "tables, figures and claims, computed again. Every number below comes from runs in this "
          "folder; every verdict is a rule applied to those numbers."};
  report.facts = {"glint " + std::string(kVersion), describe(lab.context.cpu), today(),
                  std::to_string(lab.setup.seeds) + (lab.setup.seeds == 1 ? " seed" : " seeds")};
  report.notices = notices;
  std::vector<ReportSection> sections;
  Progress progress = lab.context.progress({.label = "read models", .unit = "models"});
  lab.progress = &progress;
  for (const Experiment& e : chosen) {
    progress.update(lab.readings.size(), e.title);
    ReportSection section{.id = e.name, .title = e.title, .nav = e.name};
    e.write(lab, section);
    if (!section.blocks.empty()) sections.push_back(std::move(section));
  }
  lab.progress = nullptr;
  progress.finish();
  findings = judge(lab.measured);
  // A part speaks of the claims that it touches.
  if (o.what != "all") std::erase_if(findings, [](const Finding& f) { return f.measured == kNotRun; });
  ReportSection verdicts{.id = "verdicts", .title = "Verdicts"};
  verdicts.blocks.push_back(Paragraph{summary(findings, o.quick)});
  verdicts.blocks.push_back(Paragraph{
      "\"Clearly\" means that the 95 % confidence interval of the paired difference over seeds leaves out "
      "0. Claims without a number (\"on par\", \"comparable\") got one; it is said below each."});
  verdicts.blocks.push_back(findings);
  if (!findings.empty()) report.sections.push_back(std::move(verdicts));
  for (ReportSection& s : sections) report.sections.push_back(std::move(s));
  report.sections.push_back(provenance(lab, command_text(o, lab.setup.precision, lab.out)));
  return report;
}

void print_result(Context& context, const Findings& findings, const std::string& folder, bool quick) {
  const std::string files = "report: " + folder + "/report.html, report.md, tables/, figures/\n";
  if (context.shared.json) {
    ordered_json j = {{"out", folder},
                      {"report", folder + "/report.html"},
                      {"decided", std::count_if(findings.begin(), findings.end(),
                                                [](const Finding& f) {
                                                  return f.in_paper && f.verdict != Verdict::not_tested;
                                                })},
                      {"verdicts", ordered_json::parse(findings_table(findings).json())}};
    context.print_json(j);
    return;
  }
  if (findings.empty()) {
    context.out << files;
    return;
  }
  Table table(
      {{.header = "claim", .max_width = 50}, {.header = "verdict"}, {.header = "why not", .max_width = 60}});
  for (const Finding& f : findings) table.add({f.quote, std::string(name(f.verdict)), f.why});
  std::string words = summary(findings, quick);
  std::erase_if(words, [](char c) { return c == '*' || c == '`'; });
  context.out << table.terminal() << "\n" << words << "\n" << files;
}

void run(Context& context, const Options& o) {
  const Engine engine = engine_of(context);
  std::vector<std::string> notices;
  TrainingData data(o.data_dir);
  const PlanSetup setup = make_setup(o, data, name(engine.precision()), notices);
  const Shard shard = parse_shard(o.shard);
  std::vector<Experiment> chosen;
  for (const Experiment& e : experiments())
    if (o.what == "all" || o.what == e.name) chosen.push_back(e);
  const std::vector<PlannedRun> plan = make_plan(setup, chosen);
  const std::string out = context.shared.out.empty() ? "reproduction" : context.shared.out;
  make_directory(out + "/runs");
  const StopOnSignal guard;
  train_plan(context, engine, data, out, plan, shard);
  if (shard.of > 1) {
    context.out
        << "Share " << shard.index + 1 << " of " << shard.of << " is trained. Copy " << out
        << "/runs of every machine into one folder (they do not overlap), then the same command without "
           "--shard makes the report.\n";
    return;
  }
  Lab lab{context, setup, out, data, engine, plan};
  lab.measured.small_spectra = smaller_models(setup);
  if (setup.quick) lab.measured.small_depth = "fewer epochs";
  Findings findings;
  const Report report = make_report(lab, o, chosen, notices, findings);
  // A part has a folder of its own and leaves the files of the whole alone.
  const std::string folder = o.what == "all" ? out : out + "/" + o.what;
  write_report(context.files, folder, report);
  print_result(context, findings, folder, o.quick);
}

}  // namespace

// One line an experiment: its word, its section, the runs that it needs, what computes and writes it.
const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> kTable = {
      {"table1", "Table 1: performance", runs_table1, write_table1},
      {"fig3", "Figure 3: training curves", runs_42, write_figure3},
      {"fig2", "Figure 2: eigenvectors", runs_41_pairs, write_figure2},
      {"fidelity", "Fidelity of the forms", runs_41, write_fidelity},
      {"depth", "Depth", runs_depth, write_depth},
      {"spectra", "Appendix B: spectra", runs_41_pairs, write_spectra},
      {"explain", "Appendix B: a decision explained", runs_41_pairs, write_explanation},
      {"timing", "Appendix C: time of a gate", no_runs, write_timing},
      {"stories", "Appendix D: stories", runs_stories, write_stories},
      {"fig1", "Figure 1: the gates", no_runs, write_gates},
  };
  return kTable;
}

void add_reproduce(Program& program) {
  Verb& verb = program.add(
      {.name = "reproduce",
       .group = Group::paper,
       .summary = "the paper's experiments, and what becomes of its claims",
       .details = "Trains what is missing, several runs side by side, and writes a report (HTML and "
                  "Markdown) with the "
                  "paper's numbers beside ours, every table as CSV and JSON, every figure as SVG and CSV. "
                  "Finished runs in "
                  "OUT/runs are used again; Ctrl-C saves, and the same command goes on.\n\n"
                  "Every claim gets a verdict, or the reason why these runs cannot give one. A claim is "
                  "judged only where its experiment was as large as the paper's: on MNIST and Fashion-MNIST "
                  "(scripts/fetch-data), on stories (--stories), with all epochs and at least three seeds. "
                  "--quick decides none: it shows in minutes that everything works and what the report looks "
                  "like, and so do the built-in data.",
       .examples = {
           {"glint reproduce --quick --out quick",
            "a small version of everything, five minutes; no verdicts"},
           {"glint reproduce table1 --seeds 3 --out paper", "one table, three seeds"},
           {"glint reproduce all --stories corpus --out paper", "everything: some hours on two cores"},
           {"glint reproduce all --shard 2/4 --out paper", "the second of four machines trains its share"}}});
  const auto o = std::make_shared<Options>();
  std::vector<std::string> words = {"all"};
  for (const Experiment& e : experiments()) words.push_back(e.name);
  verb.positional("WHAT", o->what,
                  "all (the default), or one experiment: table1, fig1, fig2, fig3, spectra, explain, "
                  "timing, stories, fidelity, depth",
                  {.placeholder = "WHAT", .words = words, .only_words = true});
  verb.flag("--quick", o->quick, "Few epochs and two seeds: minutes, not hours. The report says so");
  verb.size("--seeds", o->seeds, 0, 100,
            "Runs of each gate; 0: five, with --quick two. Where the paper says nothing, at most 3");
  verb.text("--data", o->data, "Image sets, with commas between; mnist,fashion-mnist when not given",
            {.placeholder = "LIST", .words = dataset_names()});
  verb.text("--stories", o->stories, "Corpus that glint tokenize made; the built-in tales when not given",
            {.placeholder = "DIR", .kind = Value::Kind::directory});
  verb.text("--shard", o->shard, "Train only share I of N of the runs, as 2/4; no report",
            {.placeholder = "I/N"});
  verb.directory("--data-dir", o->data_dir, "Look for the data here first");
  verb.share_out("Folder of the runs and the report; reproduction when not given");
  verb.share_precision();
  verb.share_threads();
  verb.share_isa();
  verb.share_linalg();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
