#include "glint/lab/jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/base/error.h"
#include "glint/base/threads.h"
#include "glint/lab/memory_need.h"
#include "glint/train/image_task.h"
#include "glint/train/text_task.h"

namespace glint {
namespace {

// A task that keeps its data alive.
template <class T, class Data>
class OwningTask : public T {
 public:
  OwningTask(const TrainOptions& options, std::shared_ptr<const Data> data, const Compute& compute)
      : T(options, *data, compute), data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

// The data called `name`, loaded by the first caller.
template <class List, class Load>
auto once(List& list, std::mutex& mutex, const std::string& name, const Load& load) {
  const std::lock_guard lock(mutex);
  for (const auto& [known, data] : list)
    if (known == name) return data;
  list.emplace_back(name, std::make_shared<decltype(load())>(load()));
  return list.back().second;
}

void run_job(const Engine& engine, TrainingData& data, const JobSetup& job_setup, TrainJob& job,
             const JobHooks& h, std::mutex& mutex) {
  const StopScope whole_steps(engine.pool(), {});  // the trainer asks between two of them, and saves
  const std::unique_ptr<Task> task = data.task(job.options, engine.compute());
  const auto tell = [&](const auto& hook, const auto&... arguments) {
    const std::lock_guard lock(mutex);
    if (hook) hook(job, arguments...);
  };
  tell(h.begin, job.options.epochs * task->steps_per_epoch());
  TrainSetup setup;
  setup.out = job.out;
  setup.force = job_setup.force;
  setup.checkpoint_every = job_setup.checkpoint_every;
  setup.machine = engine.machine();
  TrainHooks hooks;
  bool first = true;
  hooks.on_step = [&](uint64_t step, uint64_t, double loss) {
    if (first) tell(h.resumed, step - 1);
    first = false;
    tell(h.step, loss);
  };
  hooks.on_evaluation = [&](const Evaluation& e) { tell(h.evaluation, e); };
  hooks.on_note = [&](const std::string& text) { tell(h.note, text); };
  hooks.should_stop = [&] { return engine.stop_asked(); };
  job.result = train(job.options, *task, engine.compute(), engine.files(), setup, hooks);
  tell(h.end);
}

}  // namespace

std::shared_ptr<const Dataset> TrainingData::images(const std::string& name) {
  return once(images_, mutex_, name, [&] {
    DataOptions options;
    options.paths = data_paths_from_environment(data_dir_);
    return load_dataset(name, options);
  });
}

std::shared_ptr<const TextData> TrainingData::text(const std::string& name) {
  return once(texts_, mutex_, name, [&] { return load_text_data(name); });
}

void TrainingData::give(std::shared_ptr<const Dataset> images) {
  const std::lock_guard lock(mutex_);
  images_.insert(images_.begin(), {images->name, images});
}

std::unique_ptr<Task> TrainingData::task(const TrainOptions& options, const Compute& compute) {
  if (options.text) {
    const std::shared_ptr<const TextData> stories = text(options.data);
    check_memory(training_bytes(options, stories->tokenizer.size()), memory_of_process());
    return std::make_unique<OwningTask<TextTask, TextData>>(options, stories, compute);
  }
  const std::shared_ptr<const Dataset> set = images(options.data);
  check_memory(training_bytes(options, set->train.inputs(), set->train.classes), memory_of_process());
  return std::make_unique<OwningTask<ImageTask, Dataset>>(options, set, compute);
}

void run_jobs(const Engine& engine, TrainingData& data, const JobSetup& setup, std::vector<TrainJob>& jobs,
              const JobHooks& hooks) {
  const size_t threads = engine.pool().size();
  const size_t side_by_side = std::min(jobs.size(), threads);
  // One for each of those side by side; a single job may use the engine itself, whose pool then runs no loop.
  std::vector<std::unique_ptr<Engine>> engines;
  for (size_t i = 0; i < side_by_side && jobs.size() > 1; i++)
    engines.push_back(std::make_unique<Engine>(engine, threads / side_by_side));
  std::mutex mutex;
  const auto one = [&](size_t i, size_t worker) {
    if (engine.stop_asked()) return;
    const Engine& own = engines.empty() ? engine : *engines[jobs.size() > threads ? worker : i];
    try {
      run_job(own, data, setup, jobs[i], hooks, mutex);
    } catch (const Error& e) {
      const std::lock_guard lock(mutex);
      if (!hooks.failed || !hooks.failed(jobs[i], e)) throw;
    }
  };
  if (jobs.size() == 1) {
    one(0, 0);
  } else {
    const StopScope every_job(engine.pool(), {});  // `one` asks: a job that never began is no error
    engine.pool().for_tiles(jobs.size(), one);
  }
}

std::vector<uint64_t> parse_seeds(const std::string& text) {
  std::vector<uint64_t> seeds;
  const auto refuse = [&]() {
    throw Error({.code = ErrorCode::usage,
                 .what = "cannot read the seeds '" + text + "'",
                 .where = "seeds",
                 .expected = "numbers and ranges with commas between, at most 1000",
                 .hint = "`seeds=0..4`"});
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
  return folders;
}

}  // namespace glint
