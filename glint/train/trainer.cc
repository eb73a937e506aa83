#include "glint/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/model/model_file.h"
#include "glint/train/optimizer.h"

namespace glint {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string now_text() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Json to_json(const Evaluation& e, bool text) {
  Json j = {{"step", e.step},
            {"epoch", e.epoch},
            {"epoch_end", e.epoch_end},
            {"test_loss", e.test_loss},
            {"test_accuracy", e.test_accuracy},
            {"lr", e.lr},
            {"seconds", e.seconds}};
  if (std::isfinite(e.train_loss)) {
    j["train_loss"] = e.train_loss;
    j["train_accuracy"] = e.train_accuracy;
  }
  if (const double perplexity = std::exp(e.test_loss); text && std::isfinite(perplexity))
    j["test_perplexity"] = perplexity;
  return j;
}

Evaluation evaluation_from(const Json& line) {
  Evaluation e;
  e.step = line.value("step", uint64_t{0});
  e.epoch = line.value("epoch", uint64_t{0});
  e.epoch_end = line.value("epoch_end", false);
  e.train_loss = line.value("train_loss", std::numeric_limits<double>::quiet_NaN());
  e.train_accuracy = line.value("train_accuracy", std::numeric_limits<double>::quiet_NaN());
  e.test_loss = line.value("test_loss", 0.0);
  e.test_accuracy = line.value("test_accuracy", 0.0);
  e.lr = line.value("lr", 0.0);
  e.seconds = line.value("seconds", 0.0);
  return e;
}

// A loss beyond this is no loss of a model that learns: ln(classes) is below 12 for every model here.
constexpr double kDiverged = 1e6;

Json milestones(const std::vector<Json>& metrics) {
  Json j = Json::object();
  for (const int percent : {80, 85, 90})
    if (const uint64_t step = first_step_reaching(metrics, percent / 100.0)) j[std::to_string(percent)] = step;
  return j;
}

class Run {
 public:
  Run(const TrainOptions& options, Task& task, const Compute& compute, FileSystem& files, const TrainSetup& setup,
      const TrainHooks& hooks)
      : options_(options),
        task_(task),
        compute_(compute),
        files_(files),
        setup_(setup),
        hooks_(hooks),
        group_(setup.group ? *setup.group : alone_),
        total_(options.epochs * task.steps_per_epoch()),
        rate_{options.lr, parse_schedule(options.schedule), options.warmup, task.steps_per_epoch(), options.epochs},
        directory_(files, group_.first() ? setup.out : "", same_identity(), setup.force),
        optimizer_(make_optimizer(task.params(), options)),
        gradients_(1, task.params().floats()),
        eval_steps_(evaluation_steps()) {
    state_.params = Matrix<float>(1, task.params().floats());
  }

  TrainResult operator()() {
    const StopScope whole_steps(compute_.pool, {});  // stopped between steps alone: hooks_.should_stop
    const StopWhileWaiting asking(group_, hooks_.should_stop);
    if (!group_.first()) return follow();
    tell_notes();
    if (directory_.found() == RunDirectory::Found::finished) {
      repair_finished();
      order(Order::end);
      return {.state = TrainResult::State::already_finished, .step = total_, .total_steps = total_, .last = last_};
    }
    // What run.json says is true after every end. When the disk has no room for it, the file that was
    // prepared takes its place.
    try {
      return train();
    } catch (const Error& e) {
      end_with(e.code() == ErrorCode::numeric       ? "diverged"
               : e.code() == ErrorCode::interrupted ? "interrupted"
                                                    : "failed");
      throw;
    } catch (...) {
      end_with("failed");
      throw;
    }
  }

 private:
  TrainResult train() {
    TrainResult result;
    result.total_steps = total_;
    start();
    result.resumed_from = state_.step;
    order(Order::train);
    task_.set_weights(state_.params.span());
    bool stopped = false;
    while (!stopped && (evaluation_left_ || state_.step < total_)) {
      bool whole = true;
      stopped = !go_on(whole);
      const bool epoch_end = at_epoch_end(), last = state_.step == total_;
      // The sums of the last epoch stay: with them its evaluation can be made again.
      if (whole && epoch_end && !last) state_.sums = {};
      stopped = stopped || (!last && stop_asked());
      if (stopped) group_.stop_others();
      if (stopped || (!last && due(epoch_end))) save();
    }
    if (stopped) {
      write_run("interrupted");
      directory_.discard_prepared();
      result.state = TrainResult::State::interrupted;
    } else {
      finish();
    }
    result.step = state_.step;
    result.seconds = since(begin_);
    result.last = last_;
    result.evaluations = std::move(evaluations_);
    if (directory_.in_memory()) result.weights = std::move(state_.params);
    return result;
  }

  bool at_epoch_end() const { return state_.step % task_.steps_per_epoch() == 0; }
  bool is_evaluated() const {
    return at_epoch_end() || std::binary_search(eval_steps_.begin(), eval_steps_.end(), state_.step);
  }
  bool stop_asked() { return (hooks_.should_stop && hooks_.should_stop()) || group_.stop_heard(); }

  // A step with its evaluation, or the evaluation that a run was stopped in. False when it was stopped: then
  // the state is that before the step, or before the evaluation (`whole` false).
  bool go_on(bool& whole) {
    try {
      if (!evaluation_left_) one_step();
      evaluation_left_ = is_evaluated();
      if (evaluation_left_) evaluate(at_epoch_end());
      evaluation_left_ = false;
      return true;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::interrupted || group_.alone()) throw;
      whole = false;
      return false;
    }
  }

  // What rank 0 tells the others to do with its weights.
  enum class Order : uint64_t { end, evaluate, train };
  struct Begin {
    Order order = Order::end;
    uint64_t step = 0, evaluation_left = 0;
  };
  void order(Order what) {
    if (group_.alone()) return;
    Begin begin{what, state_.step, evaluation_left_};
    group_.broadcast(std::as_writable_bytes(std::span(&begin, 1)));
    if (what != Order::end) share_state(what == Order::train);
  }
  void share_state(bool with_optimizer) {
    group_.broadcast(std::as_writable_bytes(state_.params.span()));
    if (!with_optimizer) return;
    for (const StateBuffer& b : optimizer_->state()) group_.broadcast(std::as_writable_bytes(b.values));
  }

  // All but rank 0.
  TrainResult follow() {
    TrainResult result;
    result.total_steps = total_;
    for (;;) {
      Begin begin;
      group_.broadcast(std::as_writable_bytes(std::span(&begin, 1)));
      if (begin.order == Order::end) {
        result.state = TrainResult::State::already_finished;
        result.step = total_;
        return result;
      }
      share_state(begin.order == Order::train);
      task_.set_weights(state_.params.span());
      state_.step = result.resumed_from = begin.step;
      evaluation_left_ = begin.evaluation_left;
      if (begin.order == Order::train) break;
      compute_evaluation();
    }
    bool whole = true, going = true;
    while (going && (evaluation_left_ || state_.step < total_)) going = go_on(whole);
    if (!going) result.state = TrainResult::State::interrupted;
    result.step = state_.step;
    result.seconds = since(begin_);
    if (setup_.out.empty()) result.weights = std::move(state_.params);
    return result;
  }

  // The same on all ranks: Error (usage) that names what differs otherwise.
  Json same_identity() {
    const Json own = make_identity();
    if (group_.alone()) return own;
    const std::vector<std::string> all = group_.gather(own.dump());
    for (size_t r = 1; r < all.size(); r++) {
      const Json other = Json::parse(all[r]);
      for (const char* part : {"data", "options"})
        for (const auto& [key, value] : own[part].items()) {
          const Json theirs = other[part].value(key, Json());
          if (theirs == value) continue;
          throw Error({.code = ErrorCode::usage,
                       .what = rank_name(r, group_.size()) + " has " + part + "." + key + " " + theirs.dump() +
                               ", rank 0 has " + value.dump(),
                       .where = "group",
                       .expected = "the same options and the same data on every rank"});
        }
    }
    return own;
  }

  // Ends of epochs apart.
  std::vector<uint64_t> evaluation_steps() const {
    std::vector<uint64_t> steps = log_spaced_steps(total_, options_.eval_steps);
    for (uint64_t step = 1; step <= std::min(total_, options_.eval_first); step++) steps.push_back(step);
    if (task_.text())
      for (uint64_t quarter = 1; quarter <= 4; quarter++) steps.push_back((total_ * quarter + 3) / 4);
    std::sort(steps.begin(), steps.end());
    return steps;
  }
  // Where the files were found is no part of what the run is: of a folder only its own name counts, and the
  // checksum of what is in it.
  Json make_identity() const {
    Json options = options_to_json(options_), data = task_.data_description();
    data["name"] = folder_name(data.value("name", ""));
    options["data"] = data["name"];
    if (options.contains("init")) options["init"] = folder_name(options["init"]);
    data.erase("origin");
    return {{"options", options}, {"data", data}};
  }
  static std::string folder_name(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path.substr(path.find_last_of('/') + 1);
  }

  // How many lines of metrics the whole run has.
  uint64_t evaluations() const {
    uint64_t count = options_.epochs;
    for (size_t i = 0; i < eval_steps_.size(); i++)  // in order; some may stand there twice
      count += eval_steps_[i] % task_.steps_per_epoch() != 0 && (i == 0 || eval_steps_[i] != eval_steps_[i - 1]);
    return count;
  }

  void write_run(const std::string& state) {
    if (!directory_.in_memory()) directory_.write_run(run_json(state));
  }

  // The checksums of the description stand in run.json before the files are written, that of the weights
  // after: until then the run is not finished, and nobody looks.
  Json run_json(const std::string& state) const {
    Json run;
    run["identity"] = directory_.identity();
    run["data"] = task_.data_description();
    if (!setup_.machine.is_null()) run["machine"] = setup_.machine;
    run["parameters"] = task_.params().parameters();
    run["steps"] = total_;
    run["state"] = state;
    run["written"] = now_text();
    run["seconds"] = seconds_before_ + since(begin_);
    run["evaluations"] = evaluations();
    run["files"] = Json::object();
    for (const auto& [name, content] : description_) run["files"][name] = sha256_hex(as_bytes(content));
    if (state == "finished") {
      run["files"][kWeightsFile] = weights_file_hash(task_.params(), state_.params.span());
      run["result"] = to_json(last_, task_.text());
      // Where lines were lost nobody knows which was the first.
      const std::vector<Json> metrics = read_metrics(setup_.out);
      if (metrics.size() == evaluations()) run["first_step_reaching"] = milestones(metrics);
    }
    return run;
  }

  void end_with(const char* state) noexcept {
    if (directory_.in_memory()) return;
    try {
      write_run(state);
      directory_.discard_prepared();
    } catch (...) {
      try {
        directory_.end_as_prepared();
      } catch (...) {  // there is nothing left to say it with
      }
    }
  }

  void note(const std::string& text) const {
    if (hooks_.on_note) hooks_.on_note(text);
  }
  void tell_notes() {
    for (; notes_told_ < directory_.notes().size(); notes_told_++) note(directory_.notes()[notes_told_]);
  }

  void write_description() {
    for (const auto& [name, content] : description_) write_atomic(files_, directory_.file(name), content);
  }

  // The weights are good. The other files are put right from what this process knows: first the checksums,
  // then the files, so that until the end what is damaged is known as that.
  void repair_finished() {
    Json run = directory_.run();
    std::string damaged;
    for (const auto& [name, content] : description_)
      if (const std::string wrong = damage(setup_.out, run, name); !wrong.empty()) {
        note(directory_.file(name) + " " + wrong + "; it is written anew");
        damaged = name;
        run["files"][name] = sha256_hex(as_bytes(content));
      }
    if (!damaged.empty()) {
      if (run != directory_.run()) directory_.write_run(run);
      write_description();
    }
    const Metrics metrics = scan_metrics(setup_.out);
    const bool whole = !metrics.lines.empty() && metrics.lines.back()["step"] == total_;
    if (whole) last_ = evaluation_from(metrics.lines.back());
    if (whole && metrics.damaged == 0) return;
    directory_.keep_metrics(total_);
    tell_notes();
    if (!whole) evaluate_again(run);
    directory_.sync_metrics();
  }

  // The last line of the metrics is lost. run.json has a copy of it when the run had finished.
  void evaluate_again(const Json& run) {
    const std::string lost = directory_.file(kMetricsFile) + " has no line of the last step; ";
    if (run.is_object() && run.contains("result") && run["result"]["step"] == total_) {
      note(lost + "it was put back from run.json");
      last_ = evaluation_from(run["result"]);
      directory_.add_metrics(to_json(last_, task_.text()));
      return;
    }
    note(lost + "the model was evaluated again");
    evaluation_left_ = false;
    if (directory_.found() == RunDirectory::Found::finished) {
      load_weights(directory_.file(kWeightsFile), task_.params(), state_.params.span());
      state_.step = total_;
    }
    order(Order::evaluate);
    task_.set_weights(state_.params.span());
    lr_ = rate_.at(total_ - 1);
    if (seconds_before_ == 0 && run.is_object()) seconds_before_ = run.value("seconds", 0.0);
    evaluate(state_.step % task_.steps_per_epoch() == 0);
  }

  void start() {
    const bool before = directory_.found() == RunDirectory::Found::unfinished;
    const bool resumed =
        before && load_newest_checkpoint(directory_.checkpoints(), directory_.identity_hash(), state_,
                                         optimizer_->state(), [&](const std::string& text) { note(text); });
    if (resumed) {
      saved_step_ = state_.step;
    } else {
      state_.step = 0;
      state_.sums = {};
      task_.initialise(state_.params.span(), options_.seed);
      if (directory_.run().is_object() && directory_.run()["state"] == "finished")
        note(setup_.out + " has no checkpoint that could be used; the run starts again from the beginning");
    }
    if (directory_.run().is_object() && directory_.run()["state"] == "diverged")
      note(setup_.out + " diverged before; it is tried again from step " + std::to_string(state_.step));
    last_save_ = Clock::now();
    if (!directory_.in_memory()) prepare_files();
  }

  void prepare_files() {
    // First of all files: a directory without it is not known as a run, and one that was finished is not any
    // more.
    write_run("running");
    directory_.prepare_end(run_json("failed"));
    directory_.keep_metrics(state_.step);
    tell_notes();
    if (const std::vector<Json> metrics = read_metrics(setup_.out); !metrics.empty()) {
      last_ = evaluation_from(metrics.back());
      seconds_before_ = last_.seconds;
    }
    write_description();
    // A run that was stopped within an evaluation: its sums are still there.
    evaluation_left_ = state_.step > 0 && state_.step < total_ && state_.sums.samples > 0 && is_evaluated() &&
                       last_.step < state_.step;
    if (evaluation_left_) lr_ = rate_.at(state_.step - 1);
    if (state_.step == total_ && last_.step != total_) evaluate_again(directory_.run());
  }

  void one_step() {
    const uint64_t spe = task_.steps_per_epoch();
    lr_ = rate_.at(state_.step);
    const StepResult r =
        computed(state_.step + 1, [&] { return task_.step(state_.step / spe, state_.step % spe, gradients_.span()); });
    const double loss = r.loss / static_cast<double>(r.samples);
    if (group_.first()) check_loss(loss, state_.step + 1);
    optimizer_->step(compute_, state_.step + 1, lr_, gradients_.span(), state_.params.span());
    task_.set_weights(state_.params.span());
    state_.step++;
    state_.sums.loss += r.loss;
    state_.sums.correct += r.correct;
    state_.sums.samples += r.samples;
    if (hooks_.on_step && group_.first()) hooks_.on_step(state_.step, total_, loss);
  }

  StepResult compute_evaluation() {
    const StepResult test = computed(state_.step, [&] { return task_.evaluate(); });
    measure_busy();
    return test;
  }
  void measure_busy() {
    if (group_.alone()) return;
    const double now = since(begin_), waiting = group_.times().waiting;
    std::vector<double> busy(group_.size());
    const double span = std::max(now - busy_since_, 1e-9);
    busy[group_.rank()] = std::clamp(1 - (waiting - waited_before_) / span, 0.0, 1.0);
    busy_since_ = now;
    waited_before_ = waiting;
    std::vector<Range> parts;
    for (size_t r = 0; r < busy.size(); r++) parts.push_back({r * sizeof(double), sizeof(double)});
    group_.gather(std::as_writable_bytes(std::span(busy)), parts);
    last_.busy = busy;
  }

  void evaluate(bool epoch_end) {
    const StepResult test = compute_evaluation();
    if (!group_.first()) return;
    const double seen = static_cast<double>(std::max<uint64_t>(1, state_.sums.samples));
    const double n = static_cast<double>(std::max<uint64_t>(1, test.samples));
    last_.step = state_.step;
    last_.epoch = state_.step / task_.steps_per_epoch();
    last_.epoch_end = epoch_end;
    const bool known = state_.sums.samples > 0;  // not when a finished run is evaluated again
    last_.train_loss = known ? state_.sums.loss / seen : std::numeric_limits<double>::quiet_NaN();
    last_.train_accuracy = known ? static_cast<double>(state_.sums.correct) / seen : last_.train_loss;
    last_.test_loss = test.loss / n;
    last_.test_accuracy = static_cast<double>(test.correct) / n;
    last_.lr = lr_;
    last_.seconds = seconds_before_ + since(begin_);
    check_loss(last_.test_loss, state_.step);
    if (task_.text() && !std::isfinite(std::exp(last_.test_loss)))
      fail_numeric(
          "the validation loss has diverged to " + std::to_string(last_.test_loss) + ": its perplexity is infinite",
          state_.step);
    evaluations_.push_back(last_);
    directory_.add_metrics(to_json(last_, task_.text()));
    if (hooks_.on_evaluation) hooks_.on_evaluation(last_);
  }

  // What overflows inside the model is a divergence like any other.
  template <class Body>
  StepResult computed(uint64_t step, const Body& body) const {
    const StopScope within(compute_.pool,
                           group_.alone() || !group_.first() ? std::function<bool()>() : hooks_.should_stop);
    try {
      return body();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::numeric) throw;
      const ErrorParts& p = e.parts();
      fail_numeric(p.what + (p.where.empty() ? "" : " (" + p.where + ")"), step);
    }
  }

  void check_loss(double loss, uint64_t step) const {
    if (!std::isfinite(loss)) fail_numeric("the loss is not a number any more", step);
    if (loss >= kDiverged) fail_numeric("the loss has diverged to " + std::to_string(loss), step);
  }
  [[noreturn]] void fail_numeric(const std::string& what, uint64_t step) const {
    throw Error({.code = ErrorCode::numeric,
                 .what = what,
                 .where = "step " + std::to_string(step) + ", learning rate " + std::to_string(lr_) +
                          (setup_.out.empty() ? "" : ", " + setup_.out),
                 .expected = "finite losses and weights",
                 .hint = "a smaller `lr`, `clip=1`, `norm=rms` or fewer `layers`" +
                         (setup_.out.empty() ? ""
                          : saved_step_      ? ", in another directory; the checkpoint of step " +
                                              std::to_string(saved_step_) + " is kept"
                                        : std::string(", in another directory; there is no checkpoint yet"))});
  }

  // A loss can be finite where weights are not: ReLU turns a NaN into 0. Such weights are never saved.
  void check_weights() const {
    for (const ParamSpec& s : task_.params().specs())
      for (const float w : state_.params.span().subspan(s.offset, s.size()))
        if (!std::isfinite(w)) fail_numeric("a weight of " + s.name + " is not a number any more", state_.step);
  }

  bool due(bool epoch_end) const {
    if (setup_.checkpoint_every) return state_.step % setup_.checkpoint_every == 0;
    return epoch_end && since(last_save_) >= setup_.checkpoint_seconds;
  }

  void save() {
    check_weights();
    if (directory_.in_memory()) return;
    directory_.sync_metrics();  // a checkpoint never knows more than the metrics
    save_checkpoint(files_, directory_.checkpoints(), directory_.identity_hash(), state_, optimizer_->state());
    saved_step_ = state_.step;
    last_save_ = Clock::now();
  }

  void finish() {
    save();
    if (directory_.in_memory()) return;
    save_weights(files_, directory_.file("model.safetensors"), task_.params(), state_.params.span());
    write_run("finished");
    directory_.discard_prepared();
  }

  const TrainOptions& options_;
  Task& task_;
  const Compute& compute_;
  FileSystem& files_;
  const TrainSetup& setup_;
  const TrainHooks& hooks_;
  Group alone_, &group_;
  const uint64_t total_;
  const LearningRate rate_;
  const std::map<std::string, std::string> description_ = task_.description();
  RunDirectory directory_;
  const std::unique_ptr<Optimizer> optimizer_;
  TrainState state_;
  Matrix<float> gradients_;
  const std::vector<uint64_t> eval_steps_;
  Evaluation last_;
  std::vector<Evaluation> evaluations_;
  bool evaluation_left_ = false;  // of the steps that were done
  double lr_ = 0, seconds_before_ = 0;
  double busy_since_ = 0, waited_before_ = 0;
  uint64_t saved_step_ = 0;  // of the newest checkpoint; 0: there is none
  size_t notes_told_ = 0;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_save_ = begin_;
};

}  // namespace

std::vector<uint64_t> log_spaced_steps(uint64_t total, uint64_t count) {
  std::vector<uint64_t> steps;
  if (count == 0 || total == 0) return steps;
  for (uint64_t i = 0; i < count; i++) {
    const double part = count == 1 ? 1 : static_cast<double>(i) / static_cast<double>(count - 1);
    const uint64_t step = static_cast<uint64_t>(std::llround(std::pow(static_cast<double>(total), part)));
    if (steps.empty() || step > steps.back()) steps.push_back(step);
  }
  return steps;
}

uint64_t first_step_reaching(const std::vector<Json>& metrics, double accuracy) {
  for (const Json& line : metrics)
    if (line.value("test_accuracy", 0.0) >= accuracy) return line.value("step", uint64_t{0});
  return 0;
}

TrainResult train(const TrainOptions& options, Task& task, const Compute& compute, FileSystem& files,
                  const TrainSetup& setup, const TrainHooks& hooks) {
  return Run(options, task, compute, files, setup, hooks)();
}

}  // namespace glint
