#include "glint/lab/study/sweep_plan.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/lab/work/file_words.h"

namespace glint {
namespace {

std::string sweep_parameter(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string value_text(TrainOptions options, const std::string& name) {
  const std::vector<Field> table = fields_of(options);
  return field_text(*find_field(table, name));
}

// The lists in the order of the option table, every value as the options spell it and once.
std::vector<OptionList> checked_lists(const std::vector<OptionList>& lists) {
  TrainOptions scratch;
  const std::vector<Field> table = fields_of(scratch);
  std::vector<std::string> names;
  for (const Field& spec : table) names.push_back(spec.name);
  for (const OptionList& list : lists)
    if (std::ranges::find(names, list.name) == names.end())
      bad_argument("lists", "there is no option '" + list.name + "'", suggest(list.name, names));
  std::vector<OptionList> out;
  for (const Field& spec : table) {
    OptionList merged{spec.name, {}};
    for (const OptionList& list : lists) {
      if (list.name != spec.name) continue;
      for (const std::string& text : list.values) {
        set_option(spec, text, sweep_parameter(spec.name));
        const std::string value = field_text(spec);
        if (std::ranges::find(merged.values, value) == merged.values.end()) merged.values.push_back(value);
      }
    }
    if (merged.values.empty()) continue;
    if (spec.name == "seed") bad_argument("seed", "the seeds of a sweep are one list for all settings", "`seeds=0..2`");
    if ((spec.name == "data" || spec.name == "precision") && merged.values.size() > 1)
      bad_argument(spec.name, "a sweep has one value of `" + spec.name + "`", "one value",
                   "one sweep for each, in folders of their own");
    out.push_back(std::move(merged));
  }
  return out;
}

// The gate, and what differs from the recipe.
std::string folder_name(const TrainOptions& recipe, const TrainOptions& options) {
  TrainOptions there = recipe, here = options;
  const std::vector<Field> before = fields_of(there), now = fields_of(here);
  std::string name = options.gate;
  for (size_t i = 0; i < now.size(); i++) {
    const std::string value = field_text(now[i]);
    if (now[i].name == "gate" || now[i].name == "seed" || value == field_text(before[i])) continue;
    // Paths are no part of a name; numbers are, as they are.
    const bool word = std::holds_alternative<std::string*>(now[i].value);
    name += "-" + now[i].name + "-" + (word ? file_word(value) : value);
  }
  return name;
}

class Planner {
 public:
  explicit Planner(const SweepPlanRequest& q) : q_(q), lists_(checked_lists(q.lists)) {
    recipe_ = training_options(q.recipe, {}, q.data_dir).options;
    plan_.recipe = q.recipe, plan_.data_dir = q.data_dir;
    plan_.seeds = q.seeds;
    for (const OptionList& list : lists_)
      if (list.values.size() > 1) plan_.options.push_back(list);
  }

  SweepPlan make() {
    if (q_.seeds.empty()) bad_argument("seeds", "no seeds are given", "`seeds=0..2`");
    q_.one_at_a_time ? one_at_a_time() : grid();
    for (const OptionList& o : plan_.options)
      if (std::ranges::none_of(plan_.settings, [&](const SweepSetting& s) { return s.value(o.name); }))
        bad_argument(sweep_parameter(o.name), "`" + sweep_parameter(o.name) + "` means nothing for these gates",
                     "a gate that has it, such as sqs");
    plan_.text = plan_.settings.front().options.text;
    return std::move(plan_);
  }

 private:
  void grid() {
    size_t combinations = 1;
    for (const OptionList& list : lists_) {
      combinations *= list.values.size();
      check_count(combinations);
    }
    for (size_t c = 0; c < combinations; c++) {
      OptionChanges changes;
      size_t rest = c, below = combinations;
      for (const OptionList& list : lists_) {  // the first option changes slowest
        below /= list.values.size();
        changes.emplace_back(list.name, list.values[rest / below]);
        rest %= below;
      }
      add(std::move(changes));
    }
  }

  void one_at_a_time() {
    OptionChanges fixed;
    for (const OptionList& list : lists_)
      if (list.values.size() == 1) fixed.emplace_back(list.name, list.values[0]);
    add(fixed);
    const TrainOptions start = plan_.settings.front().options;
    for (const OptionList& o : plan_.options) {
      if (!means_something(o.name, start))
        bad_argument(
            sweep_parameter(o.name),
            "`" + sweep_parameter(o.name) + "` means nothing for the recipe that is changed one option at a time",
            "a recipe whose gate has it", "`gate=sqs`, or every combination");
      for (const std::string& value : o.values) {
        OptionChanges changes = fixed;
        changes.emplace_back(o.name, value);
        add(std::move(changes));
      }
    }
  }

  void add(OptionChanges changes) {
    TrainOptions options = resolved(changes);
    std::erase_if(changes, [&](const auto& c) { return !means_something(c.first, options); });
    options = resolved(changes);
    SweepSetting s{.swept = {}, .changes = {}, .options = options, .folder = folder_name(recipe_, options)};
    if (std::ranges::find(plan_.settings, s.folder, &SweepSetting::folder) != plan_.settings.end()) return;
    for (const OptionList& o : plan_.options)
      if (means_something(o.name, options)) s.swept.emplace_back(o.name, value_text(options, o.name));
    s.changes = std::move(changes);
    plan_.settings.push_back(std::move(s));
    check_count(plan_.settings.size());
  }

  TrainOptions resolved(const OptionChanges& changes) const {
    return training_options(q_.recipe, changes, q_.data_dir).options;
  }

  void check_count(size_t settings) const {
    if (settings > kMostSweepRuns / std::max<size_t>(1, q_.seeds.size()))
      bad_argument("lists", "the sweep has more than " + std::to_string(kMostSweepRuns) + " runs",
                   "shorter lists or fewer seeds", "`one_at_a_time=true`");
  }

  const SweepPlanRequest& q_;
  const std::vector<OptionList> lists_;
  TrainOptions recipe_;
  SweepPlan plan_;
};

}  // namespace

OptionList parse_option_list(const std::string& name, const std::string& text) {
  OptionList list{name, {}};
  for (const std::string& part : split(text, ',')) {
    list.values.push_back(trimmed(part));
    if (list.values.back().empty())
      bad_argument(sweep_parameter(name), "a value is empty in '" + text + "'", "values with commas between");
  }
  return list;
}

SweepPlan plan_sweep(const SweepPlanRequest& request) { return Planner(request).make(); }

const std::string* SweepSetting::value(std::string_view option) const {
  for (const auto& [name, text] : swept)
    if (name == option) return &text;
  return nullptr;
}

std::string SweepSetting::text() const {
  std::string out;
  for (const auto& [name, value] : swept)
    out += (out.empty() ? "" : ", ") + (name == "gate" ? value : name + " " + value);
  return out.empty() ? options.gate : out;
}

std::string SweepPlan::directory(const std::string& out, size_t setting, uint64_t seed) const {
  return out + "/runs/" + settings[setting].folder + "/seed-" + std::to_string(seed);
}

std::vector<PlannedJob> SweepPlan::jobs(const std::string& out) const {
  std::vector<PlannedJob> all;
  for (size_t s = 0; s < settings.size(); s++)
    for (const uint64_t seed : seeds) {
      TrainRequest train{.recipe = recipe, .changes = settings[s].changes};
      train.changes.emplace_back("seed", std::to_string(seed));
      train.out = directory(out, s, seed), train.data_dir = data_dir;
      all.push_back(planned_job(std::move(train), settings[s].text(), seed));
    }
  return all;
}

}  // namespace glint
