#include "glint/paper/measure.h"

#include <ctime>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/base/version.h"
#include "glint/lab/models/run.h"
#include "glint/paper/plan.h"
#include "glint/train/run_file.h"

namespace glint {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

std::string text_of(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) return "";
  const Json& v = object[key];
  return printable(v.is_string() ? v.get<std::string>() : v.dump());
}

double number_of(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_number() ? object[key].get<double>() : 0.0;
}

MeasuredRun measured_run(const PlannedRun& planned, const std::string& out) {
  const std::string directory = planned.directory(out);
  MeasuredRun run{.path = planned.path(),
                  .group = planned.group,
                  .command = planned.command(out),
                  .state = "not run",
                  .seed = planned.options.seed};
  if (!run_finished(directory)) {
    if (run_failed(directory)) run.state = "failed";
    return run;
  }
  const Json json = read_run_file(directory).json;
  const Json machine = json.value("machine", Json::object()), data = json.value("data", Json::object());
  run.state = "finished";
  run.steps = static_cast<uint64_t>(number_of(json, "steps"));
  run.seconds = number_of(json, "seconds");
  run.version = text_of(machine, "version");
  run.cpu = text_of(machine, "cpu");
  run.precision = text_of(machine, "precision");
  run.data_checksum = text_of(data, "checksum");
  return run;
}

Error interrupted(const std::string& what, const std::string& out) {
  return Error({.code = ErrorCode::interrupted,
                .what = what,
                .where = out,
                .hint = "the same command goes on; finished runs are kept"});
}

}  // namespace

std::vector<const PlannedRun*> Measuring::finished(const std::string& group, std::string_view gate) const {
  std::vector<const PlannedRun*> found;
  for (size_t i = 0; i < plan.runs.size(); i++)
    if (plan.runs[i].group == group && plan.runs[i].options.gate == gate && measured.runs[i].finished())
      found.push_back(&plan.runs[i]);
  return found;
}

size_t Measuring::failed(const std::string& group, std::string_view gate) const {
  size_t n = 0;
  for (size_t i = 0; i < plan.runs.size(); i++)
    n += plan.runs[i].group == group && plan.runs[i].options.gate == gate && measured.runs[i].failed();
  return n;
}

void Measuring::check_stop(const std::string& while_doing) const {
  if (engine.stop_asked()) throw interrupted("interrupted while " + while_doing, out);
}

Measured measure(const Engine& engine, TrainingData& data, const Plan& plan, const std::vector<Experiment>& experiments,
                 const std::string& out, const std::string& command, const PaperHooks& hooks) {
  Measuring m{.engine = engine, .data = data, .plan = plan, .out = out, .hooks = hooks};
  const PlanSetup& setup = plan.setup;
  m.measured.what = setup.what;
  m.measured.quick = setup.quick;
  m.measured.seeds = setup.seeds;
  m.measured.images = setup.images;
  m.measured.stories = stories_key(setup);
  m.measured.out = out;
  m.measured.command = command;
  m.measured.version = kVersion;
  m.measured.cpu = describe(engine.cpu());
  m.measured.linalg = engine.linalg().description();
  m.measured.date = today();
  m.measured.notices = setup.notices;
  m.measured.small_spectra = smaller_models(setup);
  if (setup.quick) m.measured.small_depth = "fewer epochs";
  for (const PlannedRun& run : plan.runs) m.measured.runs.push_back(measured_run(run, out));
  try {
    for (const Experiment& e : experiments)
      for (const auto& part : e.measure) part(m);
  } catch (const Error& e) {  // in the middle of a loop, which does not know what comes after it
    if (e.code() != ErrorCode::interrupted || !e.parts().hint.empty()) throw;
    throw interrupted(e.parts().what, out);
  }
  return std::move(m.measured);
}

}  // namespace glint
