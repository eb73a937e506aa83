#include "glint/paper/plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/text.h"
#include "glint/lab/work/result_files.h"
#include "glint/model/model_file.h"
#include "glint/train/run_file.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

// Beside the run, because only the trainer writes into it.
std::string failure_file(const std::string& directory) { return directory + ".failed"; }

// Multiply-adds of forward and backward count as 6 operations a weight and sample.
double run_cost(const TrainOptions& o, TrainingData& data) {
  const double d = static_cast<double>(o.d_model), h = o.d_hidden ? static_cast<double>(o.d_hidden) : d;
  const double epochs = static_cast<double>(o.epochs), layers = static_cast<double>(o.layers);
  if (o.text) {
    const auto text = data.text(o.data);
    const double weights = layers * (4 * d * d + 3 * d * h) + d * static_cast<double>(text->tokenizer.size());
    return 6 * weights * epochs * static_cast<double>(text->train.tokens());
  }
  const auto images = data.images(o.data);
  const double weights = d * static_cast<double>(images->train.inputs() + images->train.classes) + layers * 2 * d * h;
  return 6 * weights * epochs * static_cast<double>(images->train.count());
}

// Runs done, running, and the work that they are.
class Watch {
 public:
  Watch(FileSystem& files, const PaperHooks& hooks, size_t runs) : files_(files), hooks_(hooks), runs_(runs) {}

  void add(const std::string& out, double cost) { cost_[out] = cost / 1e9, total_ += cost / 1e9; }

  JobHooks hooks() {
    JobHooks h;
    h.begin = [this](const TrainJob& job, uint64_t steps) {
      steps_[job.out] = steps;
      running_.insert(name(job));
    };
    h.resumed = [this](const TrainJob& job, uint64_t step) { resumed(job, step); };
    h.step = [this](const TrainJob& job, double) {
      done_ += per_step(job);
      update();
    };
    h.note = [this](const TrainJob&, const std::string& text) { note(text); };
    h.end = [this](const TrainJob& job) { end(job); };
    h.failed = [this](const TrainJob& job, const Error& e) { return failed(job, e); };
    return h;
  }

 private:
  static std::string name(const TrainJob& job) {
    const fs::path p(job.out);
    return (p.parent_path().parent_path().filename() / p.parent_path().filename() / p.filename()).string();
  }
  double per_step(const TrainJob& job) {
    return cost_[job.out] / static_cast<double>(std::max<uint64_t>(1, steps_[job.out]));
  }
  void note(const std::string& text) const {
    if (hooks_.note) hooks_.note(text);
  }
  void update() const {
    std::string names;
    for (const std::string& n : running_) names += (names.empty() ? "" : ", ") + n;
    hooks_.tell({.label = "reproduce",
                 .done = static_cast<uint64_t>(done_),
                 .total = static_cast<uint64_t>(total_) + 1,
                 .start = static_cast<uint64_t>(before_),
                 .unit = "GFLOP",
                 .detail = count() + ", now " + names});
  }
  // Work that was done before counts for the bar, not for the rate.
  void resumed(const TrainJob& job, uint64_t step) {
    done_ += per_step(job) * static_cast<double>(step);
    before_ += per_step(job) * static_cast<double>(step);
    if (step > 0) note(name(job) + " goes on after step " + std::to_string(step));
  }
  void end(const TrainJob& job) {
    running_.erase(name(job));
    if (job.result.state == TrainResult::State::interrupted) return;
    finished_++;
    if (job.result.state == TrainResult::State::already_finished) {
      done_ += cost_[job.out];
      before_ += cost_[job.out];
      return;
    }
    const Evaluation& e = job.result.last;
    if (hooks_.line)
      hooks_.line(count() + "  " + name(job) + "  loss " + fixed_text(e.test_loss, 4) + "  accuracy " +
                  fixed_text(100 * e.test_accuracy, 2) + " %  " + duration_text(e.seconds) + "  " +
                  fixed_text(100 * done_ / std::max(total_, 1e-9), 0) + " % of the work");
  }
  // What the numbers did is a result; anything else is an error.
  bool failed(const TrainJob& job, const Error& e) {
    running_.erase(name(job));
    if (e.code() != ErrorCode::numeric) return false;
    finished_++;
    write_atomic(files_, failure_file(job.out), std::string(e.what()) + "\n");
    note(name(job) + ": " + e.what());
    return true;
  }
  std::string count() const { return std::to_string(finished_) + "/" + std::to_string(runs_) + " runs"; }

  FileSystem& files_;
  const PaperHooks& hooks_;
  const size_t runs_;
  std::map<std::string, double> cost_;  // GFLOP, by directory
  std::map<std::string, uint64_t> steps_;
  std::set<std::string> running_;
  double total_ = 0, done_ = 0, before_ = 0;
  size_t finished_ = 0;
};

}  // namespace

bool run_failed(const std::string& directory) {
  std::error_code ignored;
  return fs::exists(failure_file(directory), ignored);
}

bool run_finished(const std::string& directory) {
  return exists(directory + "/" + kWeightsFile) && exists(directory + "/" + kRunFile) &&
         read_run_file(directory).finished();
}

size_t train_plan(const Engine& engine, TrainingData& data, const std::string& out, const Plan& plan,
                  const Sharing& sharing, const PaperHooks& hooks) {
  // What is damaged the trainer puts right.
  const auto finished = [](const std::string& directory) {
    try {
      return run_finished(directory);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::bad_file) throw;
      return false;
    }
  };
  std::vector<TrainJob> jobs;
  for (size_t i = 0; i < plan.runs.size(); i++) {
    const std::string directory = plan.runs[i].directory(out);
    if (sharing.shard.has(i) && !run_failed(directory)) jobs.push_back({plan.runs[i].options, directory});
  }
  if (jobs.empty()) return 0;
  // Finished ones first: what is left is known at once.
  std::stable_partition(jobs.begin(), jobs.end(), [&](const TrainJob& j) { return finished(j.out); });
  Watch watch(engine.files(), hooks, jobs.size());
  for (const TrainJob& job : jobs) {
    watch.add(job.out, run_cost(job.options, data));
    make_directory(fs::path(job.out).parent_path().string());
  }
  size_t left = 0;
  try {
    if (sharing.join)
      left = run_joined_jobs(engine, data, {}, jobs, watch.hooks(), sharing,
                             [&](const TrainJob& job) { return run_failed(job.out) || finished(job.out); });
    else
      run_jobs(engine, data, {}, jobs, watch.hooks());
  } catch (const Error& e) {
    if (e.code() != ErrorCode::usage) throw;
    ErrorParts parts = e.parts();  // of a directory that holds another run, which is never removed here
    parts.hint = "another `out`, or remove that directory";
    throw Error(parts);
  }
  if (sharing.join && !sharing.wait && !engine.stop_asked()) return left;
  for (const TrainJob& job : jobs) left += !sharing.join && !job.done() && !run_failed(job.out);
  if (left > 0)
    throw Error({.code = ErrorCode::interrupted,
                 .what = "interrupted; " + std::to_string(left) + " of " + std::to_string(jobs.size()) +
                         " runs are not finished",
                 .where = out,
                 .hint = "the same command goes on from there"});
  return 0;
}

}  // namespace glint
