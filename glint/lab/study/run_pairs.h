// Which runs a comparison is about: two run directories are a pair; two folders with one run per seed, as
// training with several seeds makes them, are a pair for every seed that both have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glint {

struct RunPair {
  std::string a, b;
};

// Consecutive ones belong together. Error (usage) for fewer than two or an odd number, (bad_file) for what is
// neither a run nor a folder of runs. `notes` gets a sentence for seeds that only one of two folders has.
std::vector<RunPair> run_pairs(const std::vector<std::string>& runs, std::vector<std::string>& notes);

// "A,B,C,...": runs, or one folder with one run per seed.
std::vector<std::string> listed_runs(const std::string& text);

// Runs, and of every folder with one run a seed those inside. Error (usage) for none, (bad_file) as above.
std::vector<std::string> runs_in(const std::vector<std::string>& runs_or_folders);

// From run.json; nothing when the run does not say.
std::optional<uint64_t> run_seed(const std::string& directory);

// Words for classes (direction.h) without differences: classes, ascending.
std::vector<size_t> parse_class_list(const std::string& text, const std::vector<std::string>& class_names);

}  // namespace glint
