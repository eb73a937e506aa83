#include "glint/lab/work/planned_job.h"

#include <nlohmann/json.hpp>

#include "glint/base/file.h"
#include "glint/lab/work/file_words.h"
#include "glint/lab/work/runs.h"

namespace glint {

PlannedJob planned_job(TrainRequest train, std::string setting, uint64_t seed) {
  const bool there = exists(train.out + "/run.json");
  const bool finished = there && summarize_run(train.out, true).state == RunState::finished;
  return {.train = std::move(train), .setting = std::move(setting), .seed = seed, .finished = finished};
}

std::string train_command(const TrainRequest& train) {
  std::string text = "glint train" + (train.recipe.empty() ? "" : " " + shell_word(train.recipe));
  for (const auto& [name, value] : train.changes) {
    const bool is_switch = value == "true" || value == "false";
    text += is_switch ? (value == "true" ? " --" : " --no-") + name : " --" + name + " " + shell_word(value);
  }
  if (!train.data_dir.empty()) text += " --data-dir " + shell_word(train.data_dir);
  return text + " --out " + shell_word(train.out);
}

OrderedJson to_json(const std::vector<PlannedJob>& jobs) {
  OrderedJson runs = OrderedJson::array();
  for (const PlannedJob& job : jobs) {
    OrderedJson options = OrderedJson::object();
    for (const auto& [name, value] : job.train.changes) options[name] = value;
    runs.push_back({{"setting", job.setting},
                    {"seed", job.seed},
                    {"run", job.train.out},
                    {"finished", job.finished},
                    {"recipe", job.train.recipe},
                    {"options", std::move(options)},
                    {"data_dir", job.train.data_dir},
                    {"command", train_command(job.train)}});
  }
  return {{"schema", "glint-plan/1"}, {"runs", std::move(runs)}};
}

}  // namespace glint
