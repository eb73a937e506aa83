#include "glint/paper/reproduce.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/data/text_data.h"
#include "glint/lab/models/run.h"
#include "glint/lab/work/result_files.h"
#include "glint/lab/work/runs.h"
#include "glint/paper/measure.h"
#include "glint/paper/measured.h"
#include "glint/paper/paper_values.h"
#include "glint/paper/plan.h"
#include "glint/paper/verdicts.h"
#include "glint/paper/write.h"

namespace glint {
namespace {

// The data sets to train on, and what the reader of the report must know about them.
std::vector<std::string> choose_images(const ReproduceRequest& r, std::vector<std::string>& notices) {
  for (const std::string& name : r.data)
    if (name.empty() || name.find('/') != name.npos)
      bad_argument("data", "'" + printable(name) + "' is not the name of a data set", "mnist, fashion-mnist, glyphs",
                   "`data_dir` for the folder that they are in");
  if (!r.data.empty()) return r.data;
  const std::vector<std::string> paper = {"mnist", "fashion-mnist"};
  if (!r.quick) return paper;
  // The quick form works with what is there.
  DataOptions options;
  options.paths = data_paths_from_environment(r.data_dir);
  std::vector<std::string> found;
  for (const DatasetStatus& s : list_datasets(options))
    if (s.state == DataState::verified && std::ranges::find(paper, s.name) != paper.end()) found.push_back(s.name);
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

PlanSetup make_setup(const ReproduceRequest& r, TrainingData& data, std::string_view precision) {
  PlanSetup setup;
  setup.what = r.what;
  setup.quick = r.quick;
  setup.seeds = r.seeds ? r.seeds : r.quick ? 2 : 5;
  if (r.quick)
    setup.notices.push_back(
        "This is the quick form: " + std::to_string(setup.seeds) + (setup.seeds == 1 ? " seed" : " seeds") +
        " and a fraction of the epochs. It shows that everything works and how it looks; its numbers "
        "are not those of the paper's experiments. Leave out `--quick` for those.");
  setup.images = choose_images(r, setup.notices);
  if (!r.stories.empty()) {
    if (r.stories == kTales || !is_text_data(r.stories))
      bad_argument("stories", "'" + printable(r.stories) + "' is not a corpus of stories",
                   "a folder with a tokenized corpus");
    setup.stories = r.stories;
    setup.all_stories = data.text(r.stories)->train.stories() >= kPaperStories / 2;
  }
  setup.precision = precision;
  const bool stories = r.what == "all" || r.what == "table1" || r.what == "stories";
  if (stories && setup.stories == kTales)
    setup.notices.push_back(
        "No corpus of stories was given (`--stories DIR`): the language models are trained on the "
        "built-in tales, which the paper's numbers do not apply to.");
  return setup;
}

// As a person would type it.
std::string command_text(const ReproduceRequest& r, std::string_view precision) {
  std::string text = "glint reproduce " + r.what;
  const std::string data = joined(r.data, ",");
  if (r.quick) text += " --quick";
  if (r.seeds) text += " --seeds " + std::to_string(r.seeds);
  if (!data.empty()) text += " --data " + data;
  if (!r.stories.empty()) text += " --stories " + r.stories;
  if (!r.data_dir.empty()) text += " --data-dir " + r.data_dir;
  if (precision != "f32") text += " --precision " + std::string(precision);
  return text + " --out " + r.out;
}

Plan plan_of(const Engine& engine, const ReproduceRequest& request, TrainingData& data) {
  std::vector<RunSet> sets;
  for (const Experiment& e : chosen_experiments(request.what)) sets.insert(sets.end(), e.runs.begin(), e.runs.end());
  return make_plan(make_setup(request, data, name(engine.precision())), sets);
}

ReproduceResult judge_and_write(const Engine& engine, Measured measured, const std::string& folder) {
  read_gpu_timing(folder, measured);
  ReproduceResult result{
      .folder = folder, .left = 0, .linalg = measured.linalg, .findings = judge(measured), .summary = {}};
  result.summary = summary(measured, result.findings);
  for (FormulaFinding& f : judge_formulas(measured.formulas))
    if (f.verdict != Verdict::not_tested) result.formulas.push_back(std::move(f));
  write_report(engine.files(), folder, make_report(measured, result.findings));
  return result;
}

}  // namespace

size_t ReproduceResult::decided() const {
  return static_cast<size_t>(
      std::ranges::count_if(findings, [](const Finding& f) { return f.in_paper && f.verdict != Verdict::not_tested; }));
}

std::vector<PlannedJob> planned_jobs(const Engine& engine, const ReproduceRequest& request) {
  TrainingData data(request.data_dir);
  const Plan plan = plan_of(engine, request, data);
  std::vector<PlannedJob> jobs;
  for (size_t i = 0; i < plan.runs.size(); i++) {
    const PlannedRun& run = plan.runs[i];
    TrainRequest train = run.request(request.out);
    train.data_dir = request.data_dir;
    if (!request.sharing.shard.has(i) || run_failed(train.out)) continue;
    PlannedJob job = planned_job(std::move(train), run.group + ", " + run.options.gate, run.options.seed);
    if (!job.finished) jobs.push_back(std::move(job));
  }
  return jobs;
}

ReproduceResult reproduce(const Engine& engine, const ReproduceRequest& request, const PaperHooks& hooks) {
  const std::vector<Experiment> chosen = chosen_experiments(request.what);
  const std::string folder = request.what == "all" ? request.out : request.out + "/" + request.what;
  const std::string file = folder + "/" + kMeasuredFile;
  if (request.judge_only) {
    if (!exists(file))
      bad_file(file, "nothing has been measured here yet", "the file that a reproduction leaves beside its report",
               "the same without `judge_only`");
    return judge_and_write(engine, read_measured(file), folder);
  }
  TrainingData data(request.data_dir);
  const std::string_view precision = name(engine.precision());
  const Plan plan = plan_of(engine, request, data);
  make_directory(request.out + "/runs");
  const size_t left = train_plan(engine, data, request.out, plan, request.sharing, hooks);
  if (!request.sharing.whole()) return {.folder = {}, .left = left, .linalg = {}, .findings = {}, .summary = {}};
  make_directory(folder);
  write_measured(engine.files(), file,
                 measure(engine, data, plan, chosen, request.out, command_text(request, precision), hooks));
  // From the file, as judging alone does it: the two cannot differ.
  return judge_and_write(engine, read_measured(file), folder);
}

OrderedJson to_json(const ReproduceResult& result) {
  return {{"schema", "glint-reproduce/1"},
          {"out", result.folder},
          {"report", result.folder + "/report.html"},
          {"linalg", result.linalg},
          {"decided", result.decided()},
          {"verdicts", OrderedJson::parse(findings_table(result.findings).json())}};
}

}  // namespace glint
