#include "glint/lab/study/sweep.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/lab/study/sweep_parts.h"
#include "glint/lab/work/result_files.h"

namespace glint {
namespace {

// "sqs-lambda-0.1 seed 0"
std::string short_name(const TrainJob& job) {
  const size_t slash = job.out.rfind('/');
  std::string folder = job.out.substr(0, slash);
  folder.erase(0, folder.rfind('/') + 1);
  return folder + " seed " + std::to_string(job.options.seed);
}

// Samples that a run goes through, for progress.
uint64_t samples_of(const TrainOptions& o, TrainingData& data) {
  const uint64_t count = o.text ? data.text(o.data)->train.stories() : data.images(o.data)->train.count();
  return o.epochs * (o.drop_last && count >= o.batch ? count / o.batch * o.batch : count);
}

// A directory that holds another run is an Error, and never emptied here.
size_t run_checked(const Engine& engine, TrainingData& data, std::vector<TrainJob>& jobs, const JobHooks& hooks,
                   const Sharing& sharing = {}) {
  try {
    if (sharing.join)
      return run_joined_jobs(engine, data, {}, jobs, hooks, sharing, [](const TrainJob& job) {
        if (!exists(job.out + "/run.json")) return false;
        const RunState state = summarize_run(job.out, true).state;
        return state == RunState::finished || state == RunState::diverged;
      });
    run_jobs(engine, data, {}, jobs, hooks);
    return 0;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::usage) throw;
    ErrorParts parts = e.parts();
    parts.hint = "another `out`, or remove that directory";
    throw Error(parts);
  }
}

// Trains the jobs that are neither finished nor diverged.
class Training {
 public:
  Training(const Engine& engine, const SweepHooks& hooks, bool text)
      : engine_(engine), hooks_(hooks), unit_(text ? "stories" : "images") {}

  // Gives how many runs others still train.
  size_t run(TrainingData& data, std::vector<TrainJob>& jobs, const std::string& out, const Sharing& sharing) {
    jobs_ = jobs.size();
    for (const TrainJob& job : jobs) total_ += samples_of(job.options, data);
    update("");
    const size_t others = run_checked(engine_, data, jobs, job_hooks(), sharing);
    const size_t left = sharing.join ? others : jobs_ - ended_;
    if (left == 0 || (sharing.join && !sharing.wait && !engine_.stop_asked())) return left;
    throw Error(
        {.code = ErrorCode::interrupted,
         .what = "interrupted; " + std::to_string(left) + " of " + std::to_string(jobs_) + " runs are not finished",
         .where = out,
         .hint = "the same command goes on from there"});
  }

 private:
  JobHooks job_hooks() {
    JobHooks h;
    h.resumed = [this](const TrainJob& job, uint64_t step) {
      total_ -= std::min(total_ - done_, step * job.options.batch);  // so much less is left to do
      if (step > 0) engine_.note(short_name(job) + " goes on after step " + std::to_string(step));
    };
    h.step = [this](const TrainJob& job, double) {
      done_ = std::min(total_, done_ + job.options.batch);
      update(short_name(job));
    };
    h.note = [this](const TrainJob& job, const std::string& text) { engine_.note(short_name(job) + ": " + text); };
    h.end = [this](const TrainJob& job) {
      if (job.result.state == TrainResult::State::interrupted) return;
      ended_++;
      if (hooks_.trained) hooks_.trained(short_name(job), job.result.last, ended_, jobs_);
    };
    // What the numbers did is a result; anything else is an error.
    h.failed = [this](const TrainJob& job, const Error& e) {
      if (e.code() != ErrorCode::numeric) return false;
      ended_++;
      engine_.note(short_name(job) + " diverged: " + e.parts().what);
      return true;
    };
    return h;
  }

  void update(const std::string& now) const {
    engine_.progress({.label = "train",
                      .done = done_,
                      .total = total_,
                      .unit = unit_,
                      .detail = std::to_string(ended_) + "/" + std::to_string(jobs_) + " runs" +
                                (now.empty() ? "" : ", now " + now)});
  }

  const Engine& engine_;
  const SweepHooks& hooks_;
  const std::string unit_;
  uint64_t total_ = 0, done_ = 0;
  size_t jobs_ = 0, ended_ = 0;
};

// Every run as it is on disk; what is neither finished nor diverged becomes a job.
std::vector<TrainJob> plan_jobs(const Engine& engine, SweepResult& r, const Shard& shard) {
  std::vector<TrainJob> jobs;
  size_t index = 0;
  for (size_t s = 0; s < r.plan.settings.size(); s++) {
    SweptSetting& setting = r.settings.emplace_back();
    setting.setting = r.plan.settings[s];
    make_directory(r.out + "/runs/" + setting.setting.folder);
    for (const uint64_t seed : r.plan.seeds) {
      TrainJob job{setting.setting.options, r.plan.directory(r.out, s, seed)};
      job.options.seed = seed;
      job.options.precision = name(engine.precision());
      const RunSummary there = exists(job.out + "/run.json") ? summarize_run(job.out) : RunSummary();
      setting.runs.push_back({.directory = job.out, .seed = seed, .state = there.state, .values = {}});
      if (shard.has(index++) && there.state != RunState::diverged) jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

// Finished ones are opened too, so that one of other options is noticed; they are first and take no time.
void train_runs(const Engine& engine, TrainingData& data, SweepResult& r, const Sharing& sharing,
                const SweepHooks& hooks) {
  std::vector<TrainJob> jobs = plan_jobs(engine, r, sharing.shard), finished;
  for (SweptSetting& setting : r.settings)
    for (const SweptRun& run : setting.runs) {
      if (run.state != RunState::finished) continue;
      const auto job = std::ranges::find(jobs, run.directory, &TrainJob::out);
      if (job == jobs.end()) continue;  // of another share
      finished.push_back(std::move(*job));
      jobs.erase(job);
    }
  JobHooks notes;
  notes.note = [&](const TrainJob& job, const std::string& text) { engine.note(short_name(job) + ": " + text); };
  // Not while other workers may be at them; they are opened when the results are made.
  if (!finished.empty() && !sharing.join) run_checked(engine, data, finished, notes);
  if (!jobs.empty()) r.left = Training(engine, hooks, r.plan.text).run(data, jobs, r.out, sharing);
  if (!sharing.whole()) return;
  for (SweptSetting& setting : r.settings)
    for (SweptRun& run : setting.runs) run.state = summarize_run(run.directory, true).state;
}

void add_seed_stability(const Engine& engine, const SweepResult& r, SweptSetting& s) {
  std::vector<SweptRun*> finished;
  std::vector<std::string> directories;
  for (SweptRun& run : s.runs)
    if (run.state == RunState::finished) finished.push_back(&run), directories.push_back(run.directory);
  if (finished.size() < 2) return;
  const std::vector<std::optional<double>> alike =
      read_seed_stability(engine, r.plan, directories, r.out + "/readings/" + s.setting.folder + "-seeds.json");
  for (size_t i = 0; i < alike.size(); i++)
    if (alike[i]) finished[i]->values["stability_seeds"] = *alike[i];
}

void read_runs(const Engine& engine, TrainingData& data, SweepResult& r, const SweepHooks& hooks) {
  size_t total = 0, done = 0;
  for (const SweptSetting& s : r.settings)
    for (const SweptRun& run : s.runs) total += run.state == RunState::finished;
  make_directory(r.out + "/readings");
  for (SweptSetting& s : r.settings)
    for (SweptRun& run : s.runs) {
      if (run.state != RunState::finished) continue;
      engine.progress({.label = "read", .done = done, .total = total, .unit = "runs", .detail = s.setting.text()});
      if (engine.stop_asked())
        throw Error({.code = ErrorCode::interrupted,
                     .what = "interrupted; " + std::to_string(done) + " of " + std::to_string(total) + " runs are read",
                     .where = r.out,
                     .hint = "the same command goes on from there"});
      const bool first = s.finished++ == 0;
      SweepReading reading = read_swept_run(
          engine, data, r.plan, run.directory,
          r.out + "/readings/" + s.setting.folder + "-seed-" + std::to_string(run.seed) + ".json", first);
      run.values = std::move(reading.values);
      if (first) s.pictures = std::move(reading.pictures);
      done++;
      if (hooks.read) hooks.read(s.setting.text() + ", seed " + std::to_string(run.seed), done, total);
    }
  for (SweptSetting& s : r.settings) add_seed_stability(engine, r, s);
  engine.progress({.label = "read", .done = total, .total = total, .unit = "runs"});
}

void set_spreads(SweepResult& r) {
  for (SweptSetting& s : r.settings)
    for (const SweepMeasure& m : r.measures) {
      std::vector<double> values;
      for (const SweptRun& run : s.runs)
        if (const auto v = run.values.find(m.key); v != run.values.end()) values.push_back(v->second);
      if (!values.empty()) s.spread[m.key] = mean_and_sd(values);
    }
  // Not every kind of model has every form.
  std::erase_if(r.measures, [&](const SweepMeasure& m) {
    return m.key != "test_loss" && m.key != r.fidelity &&
           std::ranges::none_of(r.settings, [&](const SweptSetting& s) { return s.spread.contains(m.key); });
  });
}

// "12 %", "0.4 %"
std::string share_text(double share) { return fixed_text(100 * share, share < 0.0995 ? 1 : 0) + " %"; }

}  // namespace

const SweepMeasure& SweepResult::measure(const std::string& key) const {
  return *std::ranges::find(measures, key, &SweepMeasure::key);
}

std::string SweepResult::shown(const SweptSetting& setting, const SweepMeasure& m) const {
  const auto found = setting.spread.find(m.key);
  if (found == setting.spread.end()) return setting.finished == 0 ? "diverged" : "-";
  const std::string mean = fixed_text(m.factor * found->second.mean, m.decimals);
  return setting.finished >= m.spread_from ? mean + " ± " + fixed_text(m.factor * found->second.sd, m.decimals) : mean;
}

void judge_sweep(SweepResult& r) {
  const auto loss = [&](const SweptSetting& s) { return s.spread.at("test_loss").mean; };
  const auto fidelity = [&](const SweptSetting& s) { return s.spread.at(r.fidelity).mean; };
  std::vector<size_t> whole;
  for (size_t i = 0; i < r.settings.size(); i++)
    if (r.settings[i].finished == r.settings[i].runs.size()) whole.push_back(i);
  if (whole.empty())
    throw Error({.code = ErrorCode::numeric,
                 .what = "every setting has a run that diverged",
                 .where = r.out,
                 .expected = "a setting whose runs all finished",
                 .hint = "a smaller `lr`, `clip=1` or `norm=rms`"});
  for (const size_t i : whole)
    r.settings[i].front = std::ranges::none_of(whole, [&](size_t k) {
      const SweptSetting &a = r.settings[i], &b = r.settings[k];
      return loss(b) <= loss(a) && fidelity(b) >= fidelity(a) && (loss(b) < loss(a) || fidelity(b) > fidelity(a));
    });
  r.lowest = *std::ranges::min_element(whole, {}, [&](size_t i) { return loss(r.settings[i]); });
  const double least = loss(r.settings[r.lowest]);
  r.chosen = r.lowest;
  for (const size_t i : whole) {
    const SweptSetting &s = r.settings[i], &best = r.settings[r.chosen];
    if (loss(s) > least * (1 + r.tolerance)) continue;
    if (fidelity(s) > fidelity(best) || (fidelity(s) == fidelity(best) && loss(s) < loss(best))) r.chosen = i;
  }
  const size_t readable = *std::ranges::max_element(whole, [&](size_t a, size_t b) {
    return std::pair(fidelity(r.settings[a]), -loss(r.settings[a])) <
           std::pair(fidelity(r.settings[b]), -loss(r.settings[b]));
  });

  // "its weights alone decide as the model on 97.6 % of the test images"
  const SweptSetting &chosen = r.settings[r.chosen], &lowest = r.settings[r.lowest], &most = r.settings[readable];
  const auto reads = [&](const SweptSetting& s) {
    return r.plan.text ? "correlation " + fixed_text(fidelity(s), 3) : fixed_text(100 * fidelity(s), 1) + " %";
  };
  const std::string kind = r.plan.text ? "validation loss " : "test loss ";
  const auto named = [&](const SweptSetting& s) {
    return s.setting.text() + " (" + kind + fixed_text(loss(s), 4) + ", " + reads(s) + ")";
  };
  r.answer = "Choose " + chosen.setting.text() + ": ";
  r.answer += r.plan.text ? "the form of its weights alone goes with what its layers add, " + reads(chosen)
                          : "its weights alone decide as the model does on " + reads(chosen) + " of the test images";
  r.answer += ", at a " + kind + "of " + fixed_text(loss(chosen), 4) + ", ";
  if (r.chosen == r.lowest)
    r.answer += "the lowest of all";
  else
    r.answer += share_text(loss(chosen) / least - 1) + " above the lowest, that of " + named(lowest);
  if (readable != r.chosen)
    r.answer += "; most readable is " + named(most) + ", " + share_text(loss(most) / least - 1) + " above the lowest";
  r.answer += ".";
}

SweepResult sweep(const Engine& engine, const SweepRequest& request, const SweepHooks& hooks) {
  SweepResult r;
  r.plan = plan_sweep(request.plan), r.out = request.out, r.tolerance = request.tolerance;
  while (r.out.size() > 1 && r.out.ends_with('/')) r.out.pop_back();
  r.measures = sweep_measures(r.plan.text);
  // From the weights alone a form has no scale of its own: of a language model the correlation speaks.
  r.fidelity = r.plan.text ? "correlation_weights" : "agreement_weights";
  TrainingData data(request.plan.data_dir);
  train_runs(engine, data, r, request.sharing, hooks);
  r.shared = !request.sharing.whole();
  if (r.shared) return r;
  read_runs(engine, data, r, hooks);
  set_spreads(r);
  judge_sweep(r);
  write_sweep(engine, r);
  return r;
}

}  // namespace glint
