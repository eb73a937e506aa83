// Training, sweeps and the paper's experiments.
#include <nanobind/stl/string.h>

#include <chrono>
#include <map>

#include "bind.h"
#include "call.h"
#include "data.h"
#include "fields.h"
#include "glint/lab/study/sweep.h"
#include "glint/lab/work/train.h"
#include "glint/paper/reproduce.h"
#include "json_text.h"

namespace glint::python {
namespace {

nb::dict evaluation_dict(const std::string& out, uint64_t seed, const Evaluation& e) {
  nb::dict d;
  d["out"] = out;
  d["seed"] = seed;
  d["step"] = e.step;
  d["epoch"] = e.epoch;
  d["epoch_end"] = e.epoch_end;
  d["train_loss"] = e.train_loss;
  d["train_accuracy"] = e.train_accuracy;
  d["test_loss"] = e.test_loss;
  d["test_accuracy"] = e.test_accuracy;
  d["lr"] = e.lr;
  d["seconds"] = e.seconds;
  return d;
}

// Tells `talk` how trainings go. Steps are told one by one when somebody wants each, otherwise ten times a
// second, for a bar. Jobs tell one at a time: jobs.h.
class Teller {
 public:
  Teller(Call& call, bool every_step) : call_(call), every_step_(every_step) {}

  JobHooks hooks() {
    JobHooks h;
    if (call_.talk().is_none()) return h;
    h.begin = [this](const TrainJob& job, uint64_t total) { totals_[&job] = total; };
    h.resumed = [this](const TrainJob& job, uint64_t step) { steps_[&job] = step; };
    h.step = [this](const TrainJob& job, double loss) {
      const uint64_t step = ++steps_[&job];
      const auto now = std::chrono::steady_clock::now();
      if (!every_step_ && now - last_ < std::chrono::milliseconds(100) && step != totals_[&job]) return;
      last_ = now;
      uint64_t done = 0, total = 0;
      for (const auto& [_, n] : steps_) done += n;
      for (const auto& [_, n] : totals_) total += n;
      call_.on_python([&] {
        call_.talk().attr("step")(job.out, job.options.seed, step, totals_[&job], loss, done, total);
      });
    };
    h.evaluation = [this](const TrainJob& job, const Evaluation& e) {
      call_.on_python(
          [&] { call_.talk().attr("evaluation")(evaluation_dict(job.out, job.options.seed, e)); });
    };
    h.note = [this](const TrainJob&, const std::string& text) { call_.note(text); };
    return h;
  }

 private:
  Call& call_;
  bool every_step_;
  std::map<const TrainJob*, uint64_t> totals_, steps_;
  std::chrono::steady_clock::time_point last_ = {};
};

TrainRequest train_request(const Fields& fields, nb::handle data) {
  TrainRequest request;
  fields.text("recipe", request.recipe);
  fields.pairs("changes", request.changes);
  fields.counts("seeds", request.seeds);
  fields.text("out", request.out);
  fields.flag("force", request.force);
  fields.count("checkpoint_every", request.checkpoint_every);
  fields.text("data_dir", request.data_dir);
  request.images = images_of(data);
  return request;
}

// None at ranks other than the first, which alone writes the run.
nb::object train_json(nb::dict values, nb::handle data, nb::handle talk, nb::handle ranks) {
  const Fields fields(values);
  const TrainRequest request = train_request(fields, data);
  bool every_step = false;
  fields.flag("every_step", every_step);
  const auto precision = [&] {
    return training_options(request.recipe, request.changes, request.data_dir, request.images.get())
        .options.precision;
  };
  Call call(talk, precision, ranks);
  Teller teller(call, every_step);
  const JobHooks hooks = teller.hooks();
  const TrainingResult result = call.run([&] { return train(call.engine(), request, hooks); });
  result.check_done();
  return call.first() ? nb::cast(json_text(to_json(result))) : nb::none();
}

std::string options_json(nb::dict values, nb::handle data) {
  const Fields fields(values);
  std::string recipe, data_dir;
  OptionChanges changes;
  fields.text("recipe", recipe);
  fields.pairs("changes", changes);
  fields.text("data_dir", data_dir);
  const std::shared_ptr<const Dataset> images = images_of(data);
  const TrainingOptions resolved = training_options(recipe, changes, data_dir, images.get());
  return json_text({{"label", resolved.label}, {"options", OrderedJson(options_to_json(resolved.options))}});
}

SweepRequest sweep_request(const Fields& fields) {
  SweepRequest request;
  fields.text("recipe", request.plan.recipe);
  std::vector<std::pair<std::string, std::string>> lists;
  fields.pairs("lists", lists);
  for (const auto& [name, text] : lists) request.plan.lists.push_back(parse_option_list(name, text));
  fields.counts("seeds", request.plan.seeds);
  fields.flag("one_at_a_time", request.plan.one_at_a_time);
  fields.text("data_dir", request.plan.data_dir);
  fields.text("out", request.out);
  fields.real("tolerance", request.tolerance);
  return request;
}

std::string sweep_json(nb::dict values, nb::handle talk) {
  const SweepRequest request = sweep_request(Fields(values));
  const SweepPlan plan = plan_sweep(request.plan);
  Call call(talk, plan.settings.empty() ? "f32" : plan.settings.front().options.precision);
  SweepHooks hooks;
  if (!talk.is_none()) {
    hooks.trained = [&](const std::string& run, const Evaluation& e, size_t done, size_t of) {
      call.on_python([&] { call.talk().attr("trained")(evaluation_dict(run, 0, e), done, of); });
    };
    hooks.read = [&](const std::string& run, size_t done, size_t of) {
      call.progress({.label = "read", .done = done, .total = of, .unit = "runs", .detail = run});
    };
  }
  return json_text(to_json(call.run([&] { return sweep(call.engine(), request, hooks); })));
}

ReproduceRequest reproduce_request(const Fields& fields) {
  ReproduceRequest request;
  fields.text("what", request.what);
  fields.flag("quick", request.quick);
  fields.count("seeds", request.seeds);
  fields.texts("data", request.data);
  fields.text("stories", request.stories);
  fields.text("data_dir", request.data_dir);
  fields.text("out", request.out);
  fields.flag("judge_only", request.judge_only);
  return request;
}

std::string reproduce_json(nb::dict values, nb::handle talk) {
  const ReproduceRequest request = reproduce_request(Fields(values));
  Call call(talk);
  PaperHooks hooks;
  hooks.progress = [&](const ProgressReport& report) { call.progress(report); };
  hooks.note = [&](const std::string& text) { call.note(text); };
  return json_text(to_json(call.run([&] { return reproduce(call.engine(), request, hooks); })));
}

// The runs that a call of `what` would train.
std::string plan_json(const std::string& what, nb::dict values, nb::handle data) {
  const Fields fields(values);
  if (what == "train") return json_text(to_json(planned_jobs(train_request(fields, data))));
  if (what == "sweep") {
    const SweepRequest request = sweep_request(fields);
    return json_text(to_json(plan_sweep(request.plan).jobs(request.out)));
  }
  const ReproduceRequest request = reproduce_request(fields);
  Call call{nb::none()};
  return json_text(to_json(call.run([&] { return planned_jobs(call.engine(), request); })));
}

}  // namespace

void bind_train(nb::module_& m) {
  m.def("train", &train_json, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none(),
        nb::arg("ranks").none());
  m.def("plan", &plan_json, nb::arg("what"), nb::arg("fields"), nb::arg("data").none());
  m.def("options", &options_json, nb::arg("fields"), nb::arg("data").none());
  m.def("sweep", &sweep_json, nb::arg("fields"), nb::arg("talk").none());
  m.def("reproduce", &reproduce_json, nb::arg("fields"), nb::arg("talk").none());
  m.def("recipes", [] {
    nb::list names;
    for (const std::string& name : recipe_names(recipe_folders())) names.append(name);
    return names;
  });
}

}  // namespace glint::python
