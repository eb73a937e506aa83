// glint train: from a recipe or flags to a run directory, for one seed or several side by side.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "glint/base/error.h"
#include "glint/base/statistics.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/text_sources.h"
#include "glint/cli/train_jobs.h"
#include "glint/cli/verbs.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSmallStories = "tinystories-small";  // the recipe to point to

struct Options {
  std::string recipe, seeds, data_dir;
  std::vector<std::pair<std::string, std::string>> given;  // option, text: applied over the recipe
  size_t checkpoint_every = 0;
  bool force = false;
};

std::string metric_text(const Evaluation& e, bool text) {
  return text ? "  perplexity " + fixed_text(std::exp(e.test_loss), 2)
              : "  test accuracy " + fixed_text(100 * e.test_accuracy, 2) + " %";
}

// The display of one or several runs.
class Display {
 public:
  Display(Context& context, const std::vector<TrainJob>& jobs)
      : context_(context),
        jobs_(jobs.size()),
        samples_(jobs.front().options.batch),
        text_(jobs.front().options.text),
        unit_(text_ ? "stories" : "images") {}

  JobHooks hooks() {
    return {.begin = [this](const TrainJob&, uint64_t steps) { begin(steps); },
            .resumed = [this](const TrainJob& job, uint64_t step) { resumed(job, step); },
            .step = [this](const TrainJob&, double loss) { step(loss); },
            .evaluation = [this](const TrainJob& job, const Evaluation& e) { evaluation(job, e); },
            .note = [this](const TrainJob&, const std::string& text) { progress_->message("note: " + text); },
            .end = {}};
  }
  void finish() {
    if (progress_) progress_->finish();
  }

 private:
  // The total is known when the first task is made.
  void begin(uint64_t steps) {
    if (!progress_)
      progress_.emplace(context_.err, context_.terminal, context_.shared.quiet,
                        ProgressSetup{.label = "train", .total = jobs_ * steps * samples_, .unit = unit_});
  }
  void resumed(const TrainJob& job, uint64_t step) {
    steps_ += step;
    progress_->set_start(steps_ * samples_);
    if (step > 0) progress_->message("note: " + job.out + " goes on after step " + std::to_string(step));
  }
  void step(double loss) {
    steps_++;
    progress_->update(steps_ * samples_, "loss " + fixed_text(loss, 4) + note_);
  }
  void evaluation(const TrainJob& job, const Evaluation& e) {
    note_ = text_ ? ", validation " + fixed_text(e.test_loss, 4)
                  : ", test " + fixed_text(100 * e.test_accuracy, 2) + " %";
    if (!e.epoch_end) return;
    std::string text = jobs_ > 1 ? "seed " + std::to_string(job.options.seed) + "  " : "";
    text += "epoch " + std::to_string(e.epoch) + "/" + std::to_string(job.options.epochs) + "  train loss " +
            fixed_text(e.train_loss, 4) + (text_ ? "  validation loss " : "  test loss ") +
            fixed_text(e.test_loss, 4) + metric_text(e, text_) + "  " + progress_->rate() + " " + unit_ +
            "/s  " + duration_text(e.seconds);
    progress_->line(text);
  }

  Context& context_;
  const uint64_t jobs_, samples_;
  const bool text_;
  const std::string unit_;
  std::optional<Progress> progress_;
  uint64_t steps_ = 0;
  std::string note_;
};

MeanAndSd spread(const std::vector<TrainJob>& jobs, double Evaluation::*member) {
  std::vector<double> values;
  for (const TrainJob& j : jobs) values.push_back(j.result.last.*member);
  return mean_and_sd(values);
}

void report(Context& context, const std::vector<TrainJob>& jobs) {
  if (context.shared.json) {
    ordered_json j;
    j["runs"] = ordered_json::array();
    for (const TrainJob& job : jobs) {
      const Evaluation& e = job.result.last;
      j["runs"].push_back(
          {{"out", job.out},
           {"seed", job.options.seed},
           {"gate", job.options.gate},
           {"state", job.result.state == TrainResult::State::interrupted ? "interrupted" : "finished"},
           {"steps", job.result.step},
           {"test_loss", e.test_loss},
           {"test_accuracy", e.test_accuracy},
           {"train_loss", e.train_loss},
           {"seconds", e.seconds}});
    }
    if (jobs.size() > 1) {
      const MeanAndSd loss = spread(jobs, &Evaluation::test_loss),
                      accuracy = spread(jobs, &Evaluation::test_accuracy);
      j["mean"] = {{"n", jobs.size()},
                   {"test_loss", loss.mean},
                   {"test_loss_sd", loss.sd},
                   {"test_accuracy", accuracy.mean},
                   {"test_accuracy_sd", accuracy.sd}};
    }
    context.print_json(j);
    return;
  }
  const bool text = jobs.front().options.text;
  std::vector<Column> columns = {{.header = "run"}, {.header = "seed", .align = Align::right}};
  for (const char* header : text ? std::vector{"train loss", "validation loss", "perplexity", "time"}
                                 : std::vector{"test loss", "test accuracy", "time"})
    columns.push_back({.header = header, .align = Align::right});
  Table table(columns);
  for (const TrainJob& job : jobs) {
    const Evaluation& e = job.result.last;
    std::vector<std::string> cells = {job.out, std::to_string(job.options.seed)};
    if (text)
      for (const double v : {e.train_loss, e.test_loss, std::exp(e.test_loss)})
        cells.push_back(fixed_text(v, v == e.train_loss || v == e.test_loss ? 4 : 2));
    else
      cells.insert(cells.end(), {fixed_text(e.test_loss, 4), fixed_text(100 * e.test_accuracy, 2) + " %"});
    cells.push_back(job.result.state == TrainResult::State::already_finished ? "done before"
                                                                             : duration_text(e.seconds));
    table.add(cells);
  }
  context.out << table.terminal();
  if (jobs.size() == 1) return;
  const MeanAndSd loss = spread(jobs, &Evaluation::test_loss);
  context.out << "\nmean of " << jobs.size() << " seeds: " << (text ? "validation" : "test") << " loss "
              << fixed_text(loss.mean, 4) << " ± " << fixed_text(loss.sd, 4);
  if (!text) {
    const MeanAndSd accuracy = spread(jobs, &Evaluation::test_accuracy);
    context.out << ", test accuracy " << fixed_text(100 * accuracy.mean, 2) << " ± "
                << fixed_text(100 * accuracy.sd, 2) << " %";
  }
  context.out << "\n";
}

const RecipeKey* find_key(const std::vector<RecipeKey>& keys, const std::string& name) {
  for (const RecipeKey& k : keys)
    if (k.name == name) return &k;
  return nullptr;
}

bool is_given(const Options& o, const std::string& name) {
  return std::any_of(o.given.begin(), o.given.end(), [&](const auto& g) { return g.first == name; });
}

// Images or stories: the data say it, and where there are none of that name the options. Error (usage) for
// text that is no corpus yet, and for flags and keys of the recipe that mean nothing for the data.
void choose_kind(TrainOptions& options, const Options& o, const std::vector<RecipeKey>& keys) {
  const std::vector<OptionSpec> table = option_table(options);
  const bool text_keys = std::any_of(table.begin(), table.end(), [&](const OptionSpec& s) {
    return s.kind == OptionSpec::For::text && find_key(keys, s.name);
  });
  const bool text_flags = std::any_of(table.begin(), table.end(), [&](const OptionSpec& s) {
    return s.kind == OptionSpec::For::text && is_given(o, s.name);
  });
  const RecipeKey* data_key = is_given(o, "data") ? nullptr : find_key(keys, "data");
  const std::string named = data_key ? data_key->where : "--data " + options.data;
  const DataKind kind = data_kind(options.data);
  if (kind == DataKind::plain_text)
    throw not_tokenized(options.data, named, text_keys ? o.recipe : kSmallStories,
                        data_paths_from_environment(o.data_dir));
  options.text = kind == DataKind::corpus || (kind == DataKind::unknown && (text_keys || text_flags));
  if (!options.text) check_data_word(options.data, named);

  const std::string is_for = options.text ? "images" : "stories";
  std::string wrong, where;
  size_t count = 0;
  for (const OptionSpec& spec : table) {
    if (applies(spec, options)) continue;
    if (is_given(o, spec.name))
      throw Error({.code = ErrorCode::usage,
                   .what = "--" + spec.name + " is for " + is_for,
                   .where = "--data " + options.data,
                   .expected = options.text ? "options of a language model" : "options of an image model"});
    const RecipeKey* key = find_key(keys, spec.name);
    if (!key) continue;
    if (count++ == 0) where = key->where;
    wrong += (count > 1 ? ", " : "") + spec.name;
  }
  if (count > 0)
    throw Error({.code = ErrorCode::usage,
                 .what = wrong + (count > 1 ? " are" : " is") + " for " + is_for + ", but " + options.data +
                         (options.text ? " holds stories" : " holds images"),
                 .where = where,
                 .expected = options.text ? "a recipe for stories, or images as --data"
                                          : "a recipe for images, or a corpus as --data",
                 .hint = "glint train " + std::string(options.text ? kSmallStories : "quick") + " --data " +
                         options.data});
}

void run(Context& context, const Options& o) {
  TrainOptions options;
  std::string label;
  std::vector<RecipeKey> keys;
  if (!o.recipe.empty()) {
    const Recipe recipe = find_recipe(o.recipe, recipe_folders());
    keys = apply_recipe(options, recipe);
    label = recipe.name;
  }
  for (const OptionSpec& spec : option_table(options))
    for (const auto& [name, text] : o.given)
      if (name == spec.name) set_option(spec, text, "--" + name);
  choose_kind(options, o, keys);
  if (label.empty())
    label = options.data.find('/') == std::string::npos ? options.data : options.text ? "stories" : "images";
  if (!o.seeds.empty() && is_given(o, "seed"))
    throw Error(
        {.code = ErrorCode::usage, .what = "--seed and --seeds exclude each other", .where = "--seeds"});
  check(options);
  context.shared.precision = options.precision;
  // What the run is called is what it computes: f32 where bf16 was asked for and cannot be had.
  const Engine engine = engine_of(context);
  options.precision = name(engine.precision());

  const std::vector<uint64_t> seeds =
      o.seeds.empty() ? std::vector<uint64_t>{options.seed} : parse_seeds(o.seeds);
  std::vector<TrainJob> jobs;
  for (const uint64_t seed : seeds) {
    TrainJob job{options, ""};
    job.options.seed = seed;
    const std::string suffix = "seed-" + std::to_string(seed);
    if (context.shared.out.empty())
      job.out = "runs/" + label + "-" + options.gate + "-" + suffix;
    else
      job.out = seeds.size() == 1 && o.seeds.empty() ? context.shared.out : context.shared.out + "/" + suffix;
    jobs.push_back(job);
  }
  TrainingData data(o.data_dir);
  Display display(context, jobs);
  {
    const StopOnSignal guard;
    run_jobs(engine, data, {o.checkpoint_every, o.force}, jobs, display.hooks());
  }
  display.finish();
  for (const TrainJob& job : jobs)
    if (job.result.state == TrainResult::State::interrupted || job.result.step == 0)
      throw Error({.code = ErrorCode::interrupted,
                   .what = job.result.step == 0
                               ? "interrupted before this run began"
                               : "interrupted; saved at step " + std::to_string(job.result.step) + " of " +
                                     std::to_string(job.result.total_steps),
                   .where = job.out,
                   .hint = "the same command goes on from there"});
  report(context, jobs);
}

// "mnist-4.1, quick; for language models tales"
std::string built_in_list() {
  std::string images, stories;
  for (const BuiltInRecipe& r : built_in_recipes()) {
    std::string& list = r.text.find("\nheads") != r.text.npos ? stories : images;
    list += (list.empty() ? "" : ", ") + std::string(r.name);
  }
  return images + "; for language models " + stories;
}

}  // namespace

void add_train(Program& program) {
  Verb& verb = program.add(
      {.name = "train",
       .group = Group::train,
       .summary = "train a GLU on images or stories, from a recipe or from flags",
       .details =
           "RECIPE is a file, or a name: that of a file NAME.toml in the folder recipes/, or of a recipe "
           "that is "
           "built into glint (" +
           built_in_list() +
           "). Flags override it. The run directory holds the options, the metrics, the "
           "checkpoints and the weights; the same command resumes an interrupted run, and a directory with "
           "another run is never overwritten without --force.",
       .examples = {
           {"glint train quick --out runs/first", "a small model on the built-in digits, half a minute"},
           {"glint train mnist-4.1 --gate sqs --out runs/sqs", "the paper's section 4.1 on MNIST"},
           {"glint train fashion-4.2 --gate relu --seeds 0..4 --out runs/relu", "five seeds side by side"},
           {"glint train tinystories-small --data corpus --out runs/stories", "a language model"}}});
  const auto o = std::make_shared<Options>();
  verb.positional("RECIPE", o->recipe, "A recipe: name or .toml file",
                  {.placeholder = "RECIPE", .words = recipe_names({}), .kind = Value::Kind::file});
  static TrainOptions defaults;  // the table points into it; only for the defaults in help
  for (const OptionSpec& spec : option_table(defaults)) {
    const auto take = [o, name = spec.name](const std::string& text) { o->given.emplace_back(name, text); };
    if (std::holds_alternative<bool*>(spec.value)) {
      verb.switches(spec.name, *std::get<bool*>(spec.value), spec.help, take);
    } else {
      // Options that images do not have are null in the defaults of an image run.
      defaults.text = spec.kind == OptionSpec::For::text;
      const Json value = options_to_json(defaults)[spec.name];
      const std::string standard = value.is_string() ? value.get<std::string>() : value.dump();
      std::string placeholder = std::holds_alternative<std::string*>(spec.value) ? "WORD" : "N";
      for (size_t i = 0; i < spec.choices.size(); i++)
        placeholder = (i == 0 ? "" : placeholder + "|") + spec.choices[i];
      verb.taken("--" + spec.name, take, spec.help, standard,
                 {.placeholder = placeholder, .words = spec.choices});
    }
  }
  verb.text("--seeds", o->seeds,
            "Several seeds side by side, as 0..4 or 0,3,7: one run directory each in --out",
            {.placeholder = "LIST"});
  verb.directory("--data-dir", o->data_dir, "Look for the data here first");
  verb.size("--checkpoint-every", o->checkpoint_every, 0, 1000000000,
            "Steps between checkpoints; 0: at the end of an epoch, at most every ten seconds");
  verb.flag("--force", o->force, "Remove the run that is in the directory and start anew");
  verb.share_out("Run directory; runs/RECIPE-GATE-seed-N when not given");
  verb.share_threads();
  verb.share_isa();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
