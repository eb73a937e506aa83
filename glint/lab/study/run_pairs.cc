#include "glint/lab/study/run_pairs.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/direction.h"
#include "glint/lab/work/data_words.h"
#include "glint/train/run_file.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

bool there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_run(const std::string& directory) {
  return there(fs::path(directory) / "config.json") || there(fs::path(directory) / "run.json") || is_foreign(directory);
}

bool read_whole(std::string_view text, uint64_t& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && code == std::errc() && end == text.data() + text.size();
}

// The runs seed-N inside a folder.
std::map<uint64_t, std::string> seeds_in(const std::string& directory) {
  std::map<uint64_t, std::string> seeds;
  std::error_code ignored;
  for (const fs::directory_entry& e : fs::directory_iterator(directory, ignored)) {
    const std::string name = e.path().filename().string();
    uint64_t seed = 0;
    if (name.starts_with("seed-") && read_whole(std::string_view(name).substr(5), seed) && is_run(e.path().string()))
      seeds[seed] = e.path().string();
  }
  return seeds;
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

[[noreturn]] void refuse_runs(const std::string& what, const std::string& hint = {}) {
  bad_argument("runs", what, "two runs, or several pairs of runs: A B, C D, ...", hint);
}

[[noreturn]] void refuse_folder(const std::string& directory) {
  bad_file(directory, there(directory) ? "not a run directory" : "no such run directory",
           "a directory that a training made, or a folder with seed-0, seed-1, ... of them",
           "`train(quick, out=DIR)` makes one");
}

std::string seed_list(const std::vector<uint64_t>& seeds) {
  std::string text;
  for (const uint64_t s : seeds) text += (text.empty() ? "" : " ") + std::to_string(s);
  return text;
}

void add_pairs(const std::string& a, const std::string& b, std::vector<RunPair>& pairs,
               std::vector<std::string>& notes) {
  const bool run_a = is_run(a), run_b = is_run(b);
  const std::map<uint64_t, std::string> in_a = seeds_in(a), in_b = seeds_in(b);
  if (!run_a && in_a.empty()) refuse_folder(a);
  if (!run_b && in_b.empty()) refuse_folder(b);
  if (run_a && run_b) {
    pairs.push_back({a, b});
    return;
  }
  if (run_a != run_b)
    refuse_runs("a run cannot be paired with a folder of runs: " + a + " and " + b,
                "`compare(" + (run_a ? a + ", " + in_b.begin()->second : in_a.begin()->second + ", " + b) + ")`");
  std::vector<uint64_t> alone;
  const size_t before = pairs.size();
  for (const auto& [seed, path] : in_a) {
    const auto other = in_b.find(seed);
    if (other == in_b.end())
      alone.push_back(seed);
    else
      pairs.push_back({path, other->second});
  }
  for (const auto& [seed, path] : in_b)
    if (!in_a.contains(seed)) alone.push_back(seed);
  if (pairs.size() == before) refuse_runs("the two folders have no seed in common: " + a + " and " + b);
  if (!alone.empty())
    notes.push_back("only one of " + a + " and " + b + " has seed " + seed_list(alone) + "; left out");
}

}  // namespace

std::vector<RunPair> run_pairs(const std::vector<std::string>& arguments, std::vector<std::string>& notes) {
  if (arguments.size() < 2) refuse_runs(arguments.empty() ? "no runs are given" : "only one run is given");
  if (arguments.size() % 2 != 0)
    refuse_runs("an odd number of runs is given, " + std::to_string(arguments.size()) + ": the last has no partner");
  std::vector<RunPair> pairs;
  for (size_t i = 0; i < arguments.size(); i += 2)
    add_pairs(without_slash(arguments[i]), without_slash(arguments[i + 1]), pairs, notes);
  return pairs;
}

std::vector<std::string> runs_in(const std::vector<std::string>& runs_or_folders) {
  if (runs_or_folders.empty()) bad_argument("runs", "no runs are given", "runs, or folders with one run per seed");
  std::vector<std::string> runs;
  for (const std::string& given : runs_or_folders) {
    const std::string path = without_slash(given);
    if (is_run(path)) {
      runs.push_back(path);
      continue;
    }
    const std::map<uint64_t, std::string> inside = seeds_in(path);
    if (inside.empty()) refuse_folder(path);
    for (const auto& [seed, run] : inside) runs.push_back(run);
  }
  return runs;
}

std::vector<std::string> listed_runs(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  const std::vector<std::string> runs = parts.empty() ? parts : runs_in(parts);
  if (runs.size() < 2)
    bad_argument("control", "a control needs two runs",
                 "two runs with a comma between them, or a folder with one run per seed");
  return runs;
}

std::optional<uint64_t> run_seed(const std::string& directory) {
  const std::string path = directory + "/run.json";
  if (!there(path)) return {};
  const Json info = read_run_file(directory).json;
  const JsonFields options = JsonFields(info, path).object("identity").object("options");
  if (!options.has("seed")) return {};
  return options.required<uint64_t>("seed");
}

std::vector<size_t> parse_class_list(const std::string& text, const std::vector<std::string>& class_names) {
  std::set<size_t> classes;
  for (const UnitWord& word : parse_units(text, class_names)) {
    if (word.minus)
      bad_argument("unit", "a difference of classes is not possible here", "classes: all, 3, 3..5, or 0,2,7..9");
    classes.insert(word.plus);
  }
  return {classes.begin(), classes.end()};
}

}  // namespace glint
