// glint train: from a recipe or flags to a run directory, for one seed or several side by side.
#include <atomic>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "glint/base/error.h"
#include "glint/base/statistics.h"
#include "glint/cli/machine.h"
#include "glint/cli/stop.h"
#include "glint/cli/verbs.h"
#include "glint/data/dataset.h"
#include "glint/report/table.h"
#include "glint/train/image_task.h"
#include "glint/train/trainer.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string recipe, seeds, data_dir;
  std::vector<std::pair<std::string, std::string>> given;  // option, text: applied over the recipe
  size_t checkpoint_every = 0;
  bool force = false;
};

// "3", "0..4", "0,2,5..7"
std::vector<uint64_t> parse_seeds(const std::string& text) {
  std::vector<uint64_t> seeds;
  const auto refuse = [&]() {
    throw Error({.code = ErrorCode::usage,
                 .what = "cannot read the seeds '" + text + "'",
                 .where = "--seeds",
                 .expected = "numbers and ranges with commas between, at most 1000",
                 .hint = "--seeds 0..4"});
  };
  const auto number = [&](const std::string& word) -> uint64_t {
    if (word.empty() || word.size() > 18 || word.find_first_not_of("0123456789") != word.npos) refuse();
    return std::stoull(word);
  };
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const size_t dots = part.find("..");
    const uint64_t first = number(part.substr(0, dots));
    const uint64_t last = dots == part.npos ? first : number(part.substr(dots + 2));
    if (last < first || last - first >= 1000) refuse();
    for (uint64_t s = first; s <= last; s++)
      if (std::find(seeds.begin(), seeds.end(), s) == seeds.end()) seeds.push_back(s);
  }
  if (seeds.empty() || seeds.size() > 1000) refuse();
  return seeds;
}

std::vector<std::string> recipe_folders() {
  std::vector<std::string> folders = {"recipes"};
  if (const char* home = std::getenv("GLINT_RECIPES")) folders.insert(folders.begin(), home);
  folders.push_back(GLINT_RECIPE_DIR);
  return folders;
}

struct Job {
  TrainOptions options;
  std::string out;
  TrainResult result;
};

// The display of one or several runs: calls come from their threads.
class Display {
 public:
  Display(Context& context, const std::vector<Job>& jobs, uint64_t samples_per_step)
      : context_(context), several_(jobs.size() > 1), samples_(samples_per_step) {}

  // The total is known when the first task is made.
  void begin(uint64_t total_steps) {
    const std::lock_guard lock(mutex_);
    if (!progress_)
      progress_.emplace(context_.err, context_.terminal, context_.shared.quiet,
                        ProgressSetup{.label = "train", .total = total_steps * samples_, .unit = "images"});
  }
  void resumed(const Job& job, uint64_t step) {
    const std::lock_guard lock(mutex_);
    steps_ += step;
    progress_->set_start(steps_ * samples_);
    if (step > 0) progress_->message("note: " + job.out + " goes on after step " + std::to_string(step));
  }
  void step(double loss) {
    const std::lock_guard lock(mutex_);
    steps_++;
    loss_ = loss;
    progress_->update(steps_ * samples_, "loss " + fixed_text(loss_, 4) + note_);
  }
  void evaluation(const Job& job, const Evaluation& e) {
    const std::lock_guard lock(mutex_);
    note_ = ", test " + fixed_text(100 * e.test_accuracy, 2) + " %";
    if (!e.epoch_end) return;
    std::string text = several_ ? "seed " + std::to_string(job.options.seed) + "  " : "";
    text += "epoch " + std::to_string(e.epoch) + "/" + std::to_string(job.options.epochs) + "  train loss " +
            fixed_text(e.train_loss, 4) + "  test loss " + fixed_text(e.test_loss, 4) + "  test accuracy " +
            fixed_text(100 * e.test_accuracy, 2) + " %  " + progress_->rate() + " images/s  " +
            duration_text(e.seconds);
    progress_->line(text);
  }
  void note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    progress_->message("note: " + text);
  }
  void finish() {
    if (progress_) progress_->finish();
  }

 private:
  Context& context_;
  const bool several_;
  const uint64_t samples_;
  std::mutex mutex_;
  std::optional<Progress> progress_;
  uint64_t steps_ = 0;
  double loss_ = 0;
  std::string note_;
};

ordered_json machine_json(const Context& context, const Machine& machine) {
  return {{"version", GLINT_VERSION},          {"cpu", describe(context.cpu)},
          {"isa", name(context.isa)},          {"precision", name(machine.precision())},
          {"bf16_unit", name(machine.unit())}, {"threads", machine.compute().pool.size()}};
}

void run_job(Context& context, const Options& o, const Machine& machine, const Dataset& data, Job& job,
             Display& display, size_t jobs) {
  ImageTask task(job.options, data, machine.compute(), context.files);
  display.begin(jobs * job.options.epochs * task.steps_per_epoch());
  TrainSetup setup;
  setup.out = job.out;
  setup.force = o.force;
  setup.checkpoint_every = o.checkpoint_every;
  setup.machine = machine_json(context, machine);
  TrainHooks hooks;
  bool first = true;
  hooks.on_step = [&](uint64_t step, uint64_t, double loss) {
    if (first) display.resumed(job, step - 1);
    first = false;
    display.step(loss);
  };
  hooks.on_evaluation = [&](const Evaluation& e) { display.evaluation(job, e); };
  hooks.on_note = [&](const std::string& text) { display.note(text); };
  hooks.should_stop = [] { return stop_requested.load(); };
  job.result = train(job.options, task, machine.compute(), context.files, setup, hooks);
}

// Several seeds: each on its own threads beside the others, which wastes no time at barriers. The result of a
// seed does not depend on it.
void run_jobs(Context& context, const Options& o, const Dataset& data, std::vector<Job>& jobs) {
  const size_t threads = context.shared.threads ? context.shared.threads : available_threads();
  const size_t side_by_side = std::min(jobs.size(), threads);
  Display display(context, jobs, jobs.front().options.batch);
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&](const Machine& machine) {
    for (size_t i; (i = next.fetch_add(1)) < jobs.size() && !stop_requested;) {
      try {
        run_job(context, o, machine, data, jobs[i], display, jobs.size());
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = jobs.size();
      }
    }
  };
  std::vector<std::unique_ptr<Machine>> machines;
  for (size_t i = 0; i < side_by_side; i++)
    machines.push_back(std::make_unique<Machine>(context, threads / side_by_side, false));
  std::vector<std::thread> workers;
  for (size_t i = 1; i < side_by_side; i++) workers.emplace_back([&, i] { work(*machines[i]); });
  work(*machines[0]);
  for (std::thread& t : workers) t.join();
  display.finish();
  if (error) std::rethrow_exception(error);
}

MeanAndSd spread(const std::vector<Job>& jobs, double Evaluation::*member) {
  std::vector<double> values;
  for (const Job& j : jobs) values.push_back(j.result.last.*member);
  return mean_and_sd(values);
}

void report(Context& context, const std::vector<Job>& jobs) {
  if (context.shared.json) {
    ordered_json j;
    j["runs"] = ordered_json::array();
    for (const Job& job : jobs) {
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
  Table table({{.header = "run"},
               {.header = "seed", .align = Align::right},
               {.header = "test loss", .align = Align::right},
               {.header = "test accuracy", .align = Align::right},
               {.header = "time", .align = Align::right}});
  for (const Job& job : jobs) {
    const Evaluation& e = job.result.last;
    table.add({job.out, std::to_string(job.options.seed), fixed_text(e.test_loss, 4),
               fixed_text(100 * e.test_accuracy, 2) + " %",
               job.result.state == TrainResult::State::already_finished ? "done before"
                                                                        : duration_text(e.seconds)});
  }
  context.out << table.terminal();
  if (jobs.size() > 1) {
    const MeanAndSd loss = spread(jobs, &Evaluation::test_loss),
                    accuracy = spread(jobs, &Evaluation::test_accuracy);
    context.out << "\nmean of " << jobs.size() << " seeds: test loss " << fixed_text(loss.mean, 4) << " ± "
                << fixed_text(loss.sd, 4) << ", test accuracy " << fixed_text(100 * accuracy.mean, 2) << " ± "
                << fixed_text(100 * accuracy.sd, 2) << " %\n";
  }
}

void run(Context& context, const Options& o) {
  TrainOptions options;
  std::string label;
  if (!o.recipe.empty()) {
    const std::string path = find_recipe(o.recipe, recipe_folders());
    apply_recipe(options, path);
    const size_t slash = path.find_last_of('/');
    label = path.substr(slash == path.npos ? 0 : slash + 1);
    label = label.substr(0, label.rfind(".toml"));
  }
  for (const OptionSpec& spec : option_table(options))
    for (const auto& [name, text] : o.given)
      if (name == spec.name) set_option(spec, text, "--" + name);
  if (label.empty()) label = options.data.find('/') == std::string::npos ? options.data : "images";
  if (!o.seeds.empty() &&
      std::any_of(o.given.begin(), o.given.end(), [](const auto& g) { return g.first == "seed"; }))
    throw Error(
        {.code = ErrorCode::usage, .what = "--seed and --seeds exclude each other", .where = "--seeds"});
  check(options);
  context.shared.precision = options.precision;
  // What the run is called is what it computes: f32 where bf16 was asked for and cannot be had.
  if (bf16_unit(context, true) == Bf16Unit::none) context.shared.precision = options.precision = "f32";

  const std::vector<uint64_t> seeds =
      o.seeds.empty() ? std::vector<uint64_t>{options.seed} : parse_seeds(o.seeds);
  std::vector<Job> jobs;
  for (const uint64_t seed : seeds) {
    Job job{options, "", {}};
    job.options.seed = seed;
    const std::string suffix = "seed-" + std::to_string(seed);
    if (context.shared.out.empty())
      job.out = "runs/" + label + "-" + options.gate + "-" + suffix;
    else
      job.out = seeds.size() == 1 && o.seeds.empty() ? context.shared.out : context.shared.out + "/" + suffix;
    jobs.push_back(job);
  }
  DataOptions data_options;
  data_options.paths = data_paths_from_environment(o.data_dir);
  const Dataset data = load_dataset(options.data, data_options);
  {
    const StopOnSignal guard;
    run_jobs(context, o, data, jobs);
  }
  for (const Job& job : jobs)
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

}  // namespace

void add_train(Program& program) {
  Verb& verb = program.add(
      {.name = "train",
       .group = Group::train,
       .summary = "train a GLU on images, from a recipe or from flags",
       .details =
           "RECIPE is a file, or the name of one that comes with glint (mnist-4.1, mnist-4.2, fashion-4.1, "
           "fashion-4.2, quick). Flags override it. The run directory holds the options, the metrics, the "
           "checkpoints and the weights; the same command resumes an interrupted run, and a directory with "
           "another run is never overwritten without --force.",
       .examples = {
           {"glint train quick --out runs/first", "a small model on the built-in digits, half a minute"},
           {"glint train mnist-4.1 --gate sqs --out runs/sqs", "the paper's section 4.1 on MNIST"},
           {"glint train fashion-4.2 --gate relu --seeds 0..4 --out runs/relu", "five seeds side by side"}}});
  const auto o = std::make_shared<Options>();
  verb.positional("RECIPE", o->recipe, "A recipe: name or .toml file",
                  {.placeholder = "RECIPE", .kind = Value::Kind::file});
  static TrainOptions defaults;  // the table points into it; only for the defaults in help
  for (const OptionSpec& spec : option_table(defaults)) {
    const auto take = [o, name = spec.name](const std::string& text) { o->given.emplace_back(name, text); };
    if (std::holds_alternative<bool*>(spec.value)) {
      verb.switches(spec.name, *std::get<bool*>(spec.value), spec.help, take);
    } else {
      const std::string standard = options_to_json(defaults)[spec.name].is_string()
                                       ? options_to_json(defaults)[spec.name].get<std::string>()
                                       : options_to_json(defaults)[spec.name].dump();
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
