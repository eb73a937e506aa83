// Training, sweeps and the paper's experiments.
#include <nanobind/stl/string.h>

#include <chrono>
#include <map>

#include "answers.h"
#include "bind.h"
#include "call.h"
#include "errors.h"
#include "glint/lab/study/convert.h"
#include "glint/lab/study/sweep.h"
#include "glint/lab/work/train.h"
#include "glint/paper/reproduce.h"
#include "requests.h"

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
      call_.on_python(
          [&] { call_.talk().attr("step")(job.out, job.options.seed, step, totals_[&job], loss, done, total); });
    };
    h.evaluation = [this](const TrainJob& job, const Evaluation& e) {
      call_.on_python([&] { call_.talk().attr("evaluation")(evaluation_dict(job.out, job.options.seed, e)); });
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

// A list of (name, text) of a dict, taken out of it.
std::vector<std::pair<std::string, std::string>> taken_pairs(nb::dict& values, const char* name) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!values.contains(name)) return pairs;
  const Json list = json_of(values[name], name);
  nb::del(values[name]);
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      refuse(name, "not a pair", "(name, text)");
    pairs.emplace_back(pair[0], pair[1]);
  }
  return pairs;
}

TrainRequest train_request(nb::handle values, nb::handle data, bool* every_step = nullptr) {
  TrainRequest request;
  request.images = images_of(data);
  nb::dict rest = dict_of(values);
  request.changes = taken_pairs(rest, "changes");
  bool ignored = false;
  set_from({Field("recipe", request.recipe, ""), Field("seeds", request.seeds, ""), Field("out", request.out, ""),
            Field("force", request.force, ""), Field("checkpoint_every", request.checkpoint_every, ""),
            Field("data_dir", request.data_dir, ""), Field("every_step", every_step ? *every_step : ignored, "")},
           rest);
  return request;
}

// None at ranks other than the first, which alone writes the run.
nb::object train_json(nb::handle values, nb::handle data, nb::handle talk, nb::handle ranks) {
  bool every_step = false;
  const TrainRequest request = train_request(values, data, &every_step);
  const auto precision = [&] {
    return training_options(request.recipe, request.changes, request.data_dir, request.images.get()).options.precision;
  };
  Call call(talk, precision, ranks);
  Teller teller(call, every_step);
  const JobHooks hooks = teller.hooks();
  const TrainingResult result = call.run([&] { return train(call.engine(), request, hooks); });
  result.check_done();
  return call.first() ? nb::cast(json_text(to_json(result))) : nb::none();
}

std::string options_json(nb::handle values, nb::handle data) {
  const TrainRequest request = train_request(values, data);
  const TrainingOptions resolved =
      training_options(request.recipe, request.changes, request.data_dir, request.images.get());
  return json_text({{"label", resolved.label}, {"options", OrderedJson(options_to_json(resolved.options))}});
}

std::string convert_json(nb::handle values, nb::handle talk) {
  ConvertRequest request;
  set_from(join(fields_of(request), {Field("force", request.force, "")}), dict_of(values));
  Call call(talk);
  Teller teller(call, false);
  const JobHooks hooks = teller.hooks();
  return json_text(to_json(call.run([&] { return convert(call.engine(), request, hooks); })));
}

SweepRequest sweep_request(nb::handle values) {
  SweepRequest request;
  nb::dict rest = dict_of(values);
  for (const auto& [name, text] : taken_pairs(rest, "lists"))
    request.plan.lists.push_back(parse_option_list(name, text));
  set_from({Field("recipe", request.plan.recipe, ""), Field("seeds", request.plan.seeds, ""),
            Field("one_at_a_time", request.plan.one_at_a_time, ""), Field("data_dir", request.plan.data_dir, ""),
            Field("out", request.out, ""), Field("tolerance", request.tolerance, "")},
           rest);
  return request;
}

std::string sweep_json(nb::handle values, nb::handle talk) {
  const SweepRequest request = sweep_request(values);
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

ReproduceRequest reproduce_request(nb::handle values) {
  ReproduceRequest request;
  set_from(
      {Field("what", request.what, ""), Field("quick", request.quick, ""), Field("seeds", request.seeds, ""),
       Field("data", request.data, ""), Field("stories", request.stories, ""), Field("data_dir", request.data_dir, ""),
       Field("out", request.out, ""), Field("judge_only", request.judge_only, "")},
      dict_of(values));
  return request;
}

std::string reproduce_json(nb::handle values, nb::handle talk) {
  const ReproduceRequest request = reproduce_request(values);
  Call call(talk);
  PaperHooks hooks;
  hooks.progress = [&](const ProgressReport& report) { call.progress(report); };
  hooks.note = [&](const std::string& text) { call.note(text); };
  return json_text(to_json(call.run([&] { return reproduce(call.engine(), request, hooks); })));
}

// The runs that a call of `what` would train.
std::string plan_json(const std::string& what, nb::handle values, nb::handle data) {
  if (what == "train") return json_text(to_json(planned_jobs(train_request(values, data))));
  if (what == "sweep") {
    const SweepRequest request = sweep_request(values);
    return json_text(to_json(plan_sweep(request.plan).jobs(request.out)));
  }
  const ReproduceRequest request = reproduce_request(values);
  Call call{nb::none()};
  return json_text(to_json(call.run([&] { return planned_jobs(call.engine(), request); })));
}

}  // namespace

void bind_train(nb::module_& m) {
  describe<TrainOptions>("train");
  describe<ConvertRequest>("convert");
  m.def("convert", &convert_json, nb::arg("fields"), nb::arg("talk").none());
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
