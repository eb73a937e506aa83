#include "glint/lab/work/train.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/utf8.h"
#include "glint/data/arrays.h"
#include "glint/io/json.h"
#include "glint/lab/work/data_words.h"
#include "glint/lab/work/file_words.h"
#include "glint/lab/work/runs.h"

namespace glint {
namespace {

constexpr const char* kSmallStories = "tinystories-small";  // the recipes to point to
constexpr const char* kSmallImages = "quick";

const RecipeKey* find_key(const std::vector<RecipeKey>& keys, const std::string& name) {
  const auto found = std::ranges::find(keys, name, &RecipeKey::name);
  return found == keys.end() ? nullptr : &*found;
}

bool is_given(const OptionChanges& changes, const std::string& name) {
  return std::ranges::any_of(changes, [&](const auto& c) { return c.first == name; });
}

// "noise-std" as a parameter: `noise_std`.
std::string parameter(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

void apply_changes(TrainOptions& options, const OptionChanges& changes) {
  const std::vector<Field> table = fields_of(options);
  std::vector<std::string> names;
  for (const Field& spec : table) names.push_back(spec.name);
  for (const auto& [name, text] : changes) {
    const auto spec = std::ranges::find(table, name, &Field::name);
    if (spec == table.end())
      bad_argument("changes", "there is no option '" + printable(name) + "'", suggest(name, names));
    set_option(*spec, text, parameter(name));
  }
}

// Images or stories: the data say it, and where there are none of that name the options.
void choose_kind(TrainOptions& options, const std::string& recipe, const OptionChanges& changes,
                 const std::vector<RecipeKey>& keys, const std::string& data_dir, bool in_memory) {
  const std::vector<Field> table = fields_of(options);
  const auto any_for_text = [&](const auto& named) {
    return std::ranges::any_of(table, [&](const Field& s) { return s.who == For::language && named(s.name); });
  };
  const bool text_keys = any_for_text([&](const std::string& name) { return find_key(keys, name) != nullptr; });
  const bool text_changes = any_for_text([&](const std::string& name) { return is_given(changes, name); });
  const RecipeKey* data_key = is_given(changes, "data") ? nullptr : find_key(keys, "data");
  const std::string named = data_key ? data_key->where : "data";
  const DataKind kind = in_memory ? DataKind::images : data_kind(options.data);
  if (kind == DataKind::plain_text)
    throw not_tokenized(options.data, named, text_keys ? recipe : kSmallStories, data_paths_from_environment(data_dir));
  options.text = kind == DataKind::corpus || (kind == DataKind::unknown && (text_keys || text_changes));
  if (!options.text && !in_memory) check_data_word(options.data, named);

  const std::string is_for = options.text ? "images" : "stories";
  std::string wrong, where;
  size_t count = 0;
  for (const Field& spec : table) {
    if (applies(spec, options)) continue;
    if (is_given(changes, spec.name))
      bad_argument(parameter(spec.name),
                   "`" + parameter(spec.name) + "` is for " + is_for + ", but " + options.data +
                       (options.text ? " holds stories" : " holds images"),
                   options.text ? "options of a language model" : "options of an image model");
    const RecipeKey* key = find_key(keys, spec.name);
    if (!key) continue;
    if (count++ == 0) where = key->where;
    wrong += (count > 1 ? ", " : "") + spec.name;
  }
  if (count > 0)
    bad_argument(
        where,
        wrong + (count > 1 ? " are" : " is") + " for " + is_for + ", but " + options.data +
            (options.text ? " holds stories" : " holds images"),
        options.text ? "a recipe for stories, or images as `data`" : "a recipe for images, or a corpus as `data`",
        "the recipe " + std::string(options.text ? kSmallStories : kSmallImages));
}

std::vector<TrainJob> make_jobs(const TrainingOptions& resolved, const TrainRequest& request) {
  const std::vector<uint64_t> seeds =
      request.seeds.empty() ? std::vector<uint64_t>{resolved.options.seed} : request.seeds;
  std::vector<TrainJob> jobs;
  for (const uint64_t seed : seeds) {
    TrainJob job{resolved.options, ""};
    job.options.seed = seed;
    const std::string suffix = "seed-" + std::to_string(seed);
    if (request.out.empty())
      job.out = "runs/" + resolved.label + "-" + resolved.options.gate + "-" + suffix;
    else
      job.out = request.seeds.empty() ? request.out : request.out + "/" + suffix;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

MeanAndSd over_runs(const std::vector<TrainedRun>& runs, double Evaluation::*member) {
  std::vector<double> values;
  for (const TrainedRun& r : runs) values.push_back(r.last.*member);
  return mean_and_sd(values);
}

// Error (usage) when what is given as a recipe is a model.
void refuse_model(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at is no model
  const bool run = std::filesystem::is_directory(path, ignored) && exists(path + "/" + kRunFile);
  if (!run && !is_foreign(path)) return;
  bad_argument(path, "this is a model, not a recipe", "a recipe: one of its names, or a file of options",
               "`model(" + path + ")` tells what can be done with it");
}

}  // namespace

TrainingOptions training_options(const std::string& recipe, const OptionChanges& changes, const std::string& data_dir,
                                 const Dataset* images) {
  if (images && is_given(changes, "data"))
    throw Error({.code = ErrorCode::usage, .what = "`data` and `images` exclude each other", .where = "data"});
  TrainingOptions out;
  std::vector<RecipeKey> keys;
  if (!recipe.empty()) {
    try {
      const Recipe found = find_recipe(recipe, recipe_folders());
      keys = apply_recipe(out.options, found);
      out.label = found.name;
    } catch (const Error&) {
      refuse_model(recipe);
      throw;
    }
  }
  apply_changes(out.options, changes);
  if (images) out.options.data = images->name;
  if (!out.options.init.empty())
    take_shape(out.options, [&](const std::string& name) { return is_given(changes, name) || find_key(keys, name); });
  choose_kind(out.options, recipe, changes, keys, data_dir, images != nullptr);
  if (out.label.empty())
    out.label = out.options.data.find('/') == std::string::npos ? out.options.data
                : out.options.text                              ? "stories"
                                                                : "images";
  check(out.options);
  return out;
}

std::vector<PlannedJob> planned_jobs(const TrainRequest& request) {
  const TrainingOptions resolved =
      training_options(request.recipe, request.changes, request.data_dir, request.images.get());
  std::vector<PlannedJob> planned;
  for (const TrainJob& job : make_jobs(resolved, request)) {
    TrainRequest alone = request;
    alone.seeds = {};
    std::erase_if(alone.changes, [](const auto& change) { return change.first == "seed"; });
    alone.changes.emplace_back("seed", std::to_string(job.options.seed));
    alone.out = job.out;
    planned.push_back(planned_job(std::move(alone), job.options.gate, job.options.seed));
  }
  return planned;
}

TrainingResult train(const Engine& engine, const TrainRequest& request, const JobHooks& hooks) {
  if (!request.seeds.empty() && is_given(request.changes, "seed"))
    throw Error({.code = ErrorCode::usage, .what = "`seed` and `seeds` exclude each other", .where = "seeds"});
  if (request.images) check(*request.images);
  TrainingOptions resolved = training_options(request.recipe, request.changes, request.data_dir, request.images.get());
  if (parse_precision(resolved.options.precision) != engine.asked_precision())
    bad_argument("precision",
                 "the options ask for " + resolved.options.precision + ", the engine was made for " +
                     std::string(name(engine.asked_precision())),
                 "an engine of the precision of the options: EngineOptions.precision");
  // What the run is called is what it computes: f32 where bf16 was asked for and cannot be had.
  resolved.options.precision = name(engine.precision());
  std::vector<TrainJob> jobs = make_jobs(resolved, request);
  TrainingData data(request.data_dir);
  if (request.images) data.give(request.images);
  run_jobs(engine, data, {request.checkpoint_every, request.force}, jobs, hooks);
  TrainingResult result{.runs = {}, .text = resolved.options.text, .test_loss = {}, .test_accuracy = {}};
  for (const TrainJob& job : jobs)
    result.runs.push_back({.out = job.out,
                           .gate = job.options.gate,
                           .seed = job.options.seed,
                           .state = job.result.state,
                           .steps = job.result.step,
                           .total_steps = job.result.total_steps,
                           .last = job.result.last});
  result.test_loss = over_runs(result.runs, &Evaluation::test_loss);
  result.test_accuracy = over_runs(result.runs, &Evaluation::test_accuracy);
  return result;
}

void TrainingResult::check_done() const {
  for (const TrainedRun& run : runs)
    if (!run.done())
      throw Error({.code = ErrorCode::interrupted,
                   .what = run.steps == 0 ? "interrupted before this run began"
                                          : "interrupted; saved at step " + std::to_string(run.steps) + " of " +
                                                std::to_string(run.total_steps),
                   .where = run.out,
                   .hint = "the same command goes on from there"});
}

OrderedJson to_json(const TrainingResult& result) {
  OrderedJson j = {{"schema", "glint-train/1"}, {"runs", OrderedJson::array()}};
  for (const TrainedRun& run : result.runs)
    j["runs"].push_back({{"out", run.out},
                         {"seed", run.seed},
                         {"gate", run.gate},
                         {"state", run.done() ? "finished" : "interrupted"},
                         {"steps", run.steps},
                         {"test_loss", run.last.test_loss},
                         {"test_accuracy", run.last.test_accuracy},
                         {"train_loss", number_or_null(run.last.train_loss)},
                         {"seconds", run.last.seconds}});
  if (result.runs.size() > 1)
    j["mean"] = {{"n", result.runs.size()},
                 {"test_loss", result.test_loss.mean},
                 {"test_loss_sd", result.test_loss.sd},
                 {"test_accuracy", result.test_accuracy.mean},
                 {"test_accuracy_sd", result.test_accuracy.sd}};
  return j;
}

PlannedJob planned_job(TrainRequest train, std::string setting, uint64_t seed) {
  const bool there = exists(train.out + "/run.json");
  const bool finished = there && summarize_run(train.out, true).state == RunState::finished;
  return {.train = std::move(train), .setting = std::move(setting), .seed = seed, .finished = finished};
}

std::string train_command(const TrainRequest& train) {
  std::string text = "glint train" + (train.recipe.empty() ? "" : " " + shell_word(train.recipe));
  for (const auto& [name, value] : train.changes) {
    const bool is_switch = value == "true" || value == "false";
    text += is_switch ? (value == "true" ? " --" : " --no-") + name : " --" + name + " " + shell_word(value);
  }
  if (!train.data_dir.empty()) text += " --data-dir " + shell_word(train.data_dir);
  return text + " --out " + shell_word(train.out);
}

OrderedJson to_json(const std::vector<PlannedJob>& jobs) {
  OrderedJson runs = OrderedJson::array();
  for (const PlannedJob& job : jobs) {
    OrderedJson options = OrderedJson::object();
    for (const auto& [name, value] : job.train.changes) options[name] = value;
    runs.push_back({{"setting", job.setting},
                    {"seed", job.seed},
                    {"run", job.train.out},
                    {"finished", job.finished},
                    {"recipe", job.train.recipe},
                    {"options", std::move(options)},
                    {"data_dir", job.train.data_dir},
                    {"command", train_command(job.train)}});
  }
  return {{"schema", "glint-plan/1"}, {"runs", std::move(runs)}};
}

}  // namespace glint
