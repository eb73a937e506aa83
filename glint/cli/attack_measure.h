// The masks of every class of a run, their controls, and how the model fares under them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "glint/lab/opened_run.h"
#include "glint/spectra/attack.h"

namespace glint::cli {

enum class MaskKind { eigen, shuffled, random };  // the last two are controls of the same length
inline constexpr MaskKind kMaskKinds[] = {MaskKind::eigen, MaskKind::shuffled, MaskKind::random};
inline constexpr AttackGoal kGoals[] = {AttackGoal::away, AttackGoal::towards};
std::string_view name(MaskKind kind);
std::string_view name(AttackGoal goal);

struct AttackOptions {
  std::string unit = "all", form = "calibrated";
  size_t terms = 3, images = 2000;
  std::vector<double> strengths = {0, 1, 2, 3, 4, 6, 8};
};

struct AttackExample {
  bool found = false;
  size_t index = 0, label = 0, plain = 0, masked = 0;
};

// One class and one goal.
struct AttackResult {
  std::array<std::vector<float>, 3> masks;        // by kind, of length 1 (or all 0)
  std::array<std::vector<AttackPoint>, 3> curve;  // by kind, [strengths]
};

struct Attack {
  std::vector<size_t> units;
  std::vector<std::string> unit_names;
  std::vector<std::array<AttackResult, 2>> results;  // [units], by goal in the order of kGoals
  std::vector<AttackExample> examples;               // [units]: away from the class, at `shown`
  size_t shown = 0;                                  // index of the strength that tables and pictures show
  double image_length = 0;                           // mean Euclidean length of a test image
  Fidelity fidelity;
};

Attack measure_attack(OpenedRun& run, const AttackOptions& options, uint64_t seed);

// Over the classes: mean and standard deviation of the success, mean of the accuracy.
struct AttackSummary {
  double success = 0, success_sd = 0, accuracy = 0, accuracy_sd = 0;
};
AttackSummary summary(const Attack& attack, AttackGoal goal, MaskKind kind, size_t strength);

}  // namespace glint::cli
