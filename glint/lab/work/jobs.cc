#include "glint/lab/work/jobs.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/base/threads.h"
#include "glint/train/image_task.h"
#include "glint/train/text_task.h"

namespace glint {
namespace {

// A task that keeps its data alive.
template <class T, class Data>
class OwningTask : public T {
 public:
  template <class... More>
  OwningTask(const TrainOptions& options, std::shared_ptr<const Data> data, const Compute& compute, Group* group,
             More... more)
      : T(options, *data, compute, group, std::move(more)...), data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

// The data called `name`, loaded by the first caller.
auto once(auto& list, std::mutex& mutex, const std::string& name, const auto& load) {
  const std::lock_guard lock(mutex);
  for (const auto& [known, data] : list)
    if (known == name) return data;
  list.emplace_back(name, std::make_shared<decltype(load())>(load()));
  return list.back().second;
}

void run_job(const Engine& engine, TrainingData& data, const JobSetup& job_setup, TrainJob& job, const JobHooks& h,
             std::mutex& mutex, const std::function<bool()>& stop_too = {}) {
  const StopScope whole_steps(engine.pool(), {});  // the trainer asks between two of them, and saves
  const std::unique_ptr<Task> task = data.task(job.options, engine.compute(), &engine.group());
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
  setup.group = &engine.group();
  TrainHooks hooks;
  bool first = true;
  hooks.on_step = [&](uint64_t step, uint64_t, double loss) {
    if (first) tell(h.resumed, step - 1);
    first = false;
    tell(h.step, loss);
  };
  hooks.on_evaluation = [&](const Evaluation& e) { tell(h.evaluation, e); };
  hooks.on_note = [&](const std::string& text) { tell(h.note, text); };
  hooks.should_stop = [&] { return engine.stop_asked() || (stop_too && stop_too()); };
  job.result = train(job.options, *task, engine.compute(), engine.files(), setup, hooks);
  tell(h.end);
}

// What is left of the jobs, handed out one at a time under leases.
class JobClaims {
 public:
  JobClaims(std::vector<TrainJob>& jobs, const std::function<bool(const TrainJob&)>& settled, LeaseTimes times)
      : jobs_(jobs), settled_(settled), leases_(times), states_(jobs.size(), State::open) {}

  // The next that nobody has; null when there is none now.
  TrainJob* next() {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < jobs_.size(); i++) {
      settle(i);
      if (states_[i] != State::open || !leases_.claim(file(jobs_[i]))) continue;
      // It may have been finished between the look and the claim, or is trained by somebody without a lease.
      const bool settled = settled_(jobs_[i]);
      if (settled || is_training(jobs_[i].out)) {
        leases_.release(file(jobs_[i]));
        if (settled) states_[i] = State::settled;
        continue;
      }
      states_[i] = State::running;
      return &jobs_[i];
    }
    return nullptr;
  }
  bool lost(const TrainJob& job) const { return leases_.lost(file(job)); }
  void end(const TrainJob& job) {
    const std::lock_guard lock(mutex_);
    leases_.release(file(job));
    states_[static_cast<size_t>(&job - jobs_.data())] = State::open;
  }
  size_t left() {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < jobs_.size(); i++) settle(i);
    return static_cast<size_t>(std::ranges::count_if(states_, [](State s) { return s != State::settled; }));
  }

 private:
  enum class State { open, running, settled };
  // Who is killed between the end of a run and that of its lease leaves this one behind.
  void settle(size_t i) {
    if (states_[i] != State::open || !settled_(jobs_[i])) return;
    states_[i] = State::settled;
    if (const std::string lease = file(jobs_[i]); exists(lease) && leases_.claim(lease)) leases_.release(lease);
  }
  static std::string file(const TrainJob& job) { return job.out + ".lease"; }
  std::vector<TrainJob>& jobs_;
  const std::function<bool(const TrainJob&)>& settled_;
  Leases leases_;
  std::mutex mutex_;
  std::vector<State> states_;
};

constexpr auto kLookAgain = std::chrono::milliseconds(200);

constexpr uint64_t kOfOne = 4;  // weights, gradients, two moments

std::string gigabytes(uint64_t bytes) { return fixed_text(static_cast<double>(bytes) / 1e9, 1) + " GB"; }

}  // namespace

size_t run_joined_jobs(const Engine& engine, TrainingData& data, const JobSetup& setup, std::vector<TrainJob>& jobs,
                       const JobHooks& hooks, const Sharing& sharing,
                       const std::function<bool(const TrainJob&)>& settled) {
  const size_t slots = std::max<size_t>(1, std::min(jobs.size(), engine.pool().size()));
  std::vector<std::unique_ptr<Engine>> engines;
  for (size_t i = 0; i < slots; i++) engines.push_back(std::make_unique<Engine>(engine, engine.pool().size() / slots));
  JobClaims claims(jobs, settled, sharing.times);
  std::mutex mutex;
  std::atomic<bool> failed = false;
  const auto work = [&](size_t slot, size_t) {
    while (!engine.stop_asked() && !failed) {
      TrainJob* job = claims.next();
      if (!job && (!sharing.wait || claims.left() == 0)) return;
      if (!job) {
        std::this_thread::sleep_for(kLookAgain);
        continue;
      }
      try {
        run_job(*engines[slot], data, setup, *job, hooks, mutex, [&] { return claims.lost(*job); });
      } catch (const Error& e) {
        const std::lock_guard lock(mutex);
        if (!hooks.failed || !hooks.failed(*job, e)) {
          failed = true;
          claims.end(*job);
          throw;
        }
      }
      claims.end(*job);
    }
  };
  const StopScope every_job(engine.pool(), {});
  engine.pool().for_tiles(slots, work);
  return claims.left();
}

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

std::unique_ptr<Task> TrainingData::task(const TrainOptions& options, const Compute& compute, Group* group) {
  TrainOptions own = options;  // what this rank computes of a step, for its memory
  if (group && !group->alone()) {
    own.micro_batch = part_of(options.micro_batch, 0, group->size()).count;
    own.batch = part_of(options.batch, 0, group->size()).count;
  }
  if (options.text) {
    const std::shared_ptr<const TextData> stories = text(options.data);
    check_memory(training_bytes(own, stories->tokenizer.size()), memory_of_process());
    std::shared_ptr<const TrainingStart> start;
    if (!options.init.empty())
      start = once(starts_, mutex_, options.init, [&] { return open_start(options.init, options.context); });
    return std::make_unique<OwningTask<TextTask, TextData>>(options, stories, compute, group, start);
  }
  const std::shared_ptr<const Dataset> set = images(options.data);
  check_memory(training_bytes(own, set->train.inputs(), set->train.classes), memory_of_process());
  return std::make_unique<OwningTask<ImageTask, Dataset>>(options, set, compute, group);
}

void run_jobs(const Engine& engine, TrainingData& data, const JobSetup& setup, std::vector<TrainJob>& jobs,
              const JobHooks& hooks) {
  const size_t threads = engine.pool().size();
  const bool together = !engine.group().alone();  // each job on all threads of all ranks
  const size_t side_by_side = together ? 1 : std::min(jobs.size(), threads);
  // One for each of those side by side; a single job may use the engine itself, whose pool then runs no loop.
  std::vector<std::unique_ptr<Engine>> engines;
  for (size_t i = 0; i < side_by_side && jobs.size() > 1 && !together; i++)
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
  if (jobs.size() == 1 || together) {
    for (size_t i = 0; i < jobs.size(); i++) one(i, 0);
  } else {
    const StopScope every_job(engine.pool(), {});  // `one` asks: a job that never began is no error
    engine.pool().for_tiles(jobs.size(), one);
  }
}

std::vector<uint64_t> parse_seeds(const std::string& text) {
  std::vector<uint64_t> seeds;
  const auto refuse = [&]() {
    bad_argument("seeds", "cannot read the seeds '" + text + "'",
                 "numbers and ranges with commas between, at most 1000", "`seeds=0..4`");
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

uint64_t training_bytes(const TrainOptions& options, size_t inputs, size_t classes) {
  return kOfOne * sizeof(float) * classifier_params(classifier_config(options, inputs, classes)).table.floats();
}

uint64_t training_bytes(const TrainOptions& options, size_t vocab) {
  return (kOfOne + options.micro_batch) * sizeof(float) *
         transformer_params(transformer_config(options, vocab)).table.floats();
}

uint64_t memory_of_process() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  uint64_t there = pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : UINT64_MAX;
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      there = std::min<uint64_t>(there, limit.rlim_cur);
  }
  return there;
}

void check_memory(uint64_t needed, uint64_t there) {
  if (needed <= there) return;
  throw Error({.what = "a model of this size needs at least " + gigabytes(needed) +
                       " for its training, and there are " + gigabytes(there),
               .where = "`d_model`, `d_hidden`, `layers`",
               .expected = "a model that fits into memory",
               .hint = "smaller numbers in the recipe, or options that override it"});
}

}  // namespace glint
