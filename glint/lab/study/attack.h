// Masks read from the weights that change what a model decides: those of every class of a run, their
// controls, and how the model fares under them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/work/result_files.h"
#include "glint/spectra/attack.h"

namespace glint {

enum class MaskKind { eigen, shuffled, random };  // the last two are controls of the same length
inline constexpr MaskKind kMaskKinds[] = {MaskKind::eigen, MaskKind::shuffled, MaskKind::random};
inline constexpr AttackGoal kGoals[] = {AttackGoal::away, AttackGoal::towards};
std::string_view name(MaskKind kind);
std::string_view name(AttackGoal goal);

struct AttackRequest {
  RunSource source = {};
  std::string unit = "all";                               // classes: 3, 3..5, or 0,2,7..9
  std::string form = "auto";                              // weights, scaled, calibrated; Run::form
  size_t show = 3;                                        // eigenvectors in a mask
  size_t images = 2000;                                   // test images for each mask, at most
  std::vector<double> strengths = {0, 1, 2, 3, 4, 6, 8};  // Euclidean lengths of the mask, from 0 to 1000
  uint64_t seed = 0;                                      // of the controls
  bool figures = true;   // write attack-curve.svg, attack-masks.svg and attack-examples.svg into OUT/figures
  std::string out = {};  // "": the run
};
std::vector<Field> fields_of(AttackRequest& request);

struct AttackExample {
  bool found = false;
  size_t index = 0, label = 0, plain = 0, masked = 0;
  std::string plain_text = {}, masked_text = {};       // what the model says, as people read it
  std::vector<float> pixels = {}, masked_pixels = {};  // from 0 to 1
};

// One class and one goal.
struct AttackResult {
  std::array<std::vector<float>, 3> masks;        // by kind, of length 1 (or all 0)
  std::array<std::vector<AttackPoint>, 3> curve;  // by kind, [strengths]
};

struct Attack {
  std::string linalg;  // what computed it
  std::string run, data;
  Form form = Form::weights;
  size_t terms = 0;
  std::vector<double> strengths;
  size_t height = 0, width = 0;  // of a mask
  std::vector<size_t> units;
  std::vector<std::string> unit_names;
  std::vector<std::array<AttackResult, 2>> results;  // [units], by goal in the order of kGoals
  std::vector<AttackExample> examples;               // [units]: away from the class, at `shown`
  size_t shown = 0;                                  // index of the strength that tables and pictures show
  double image_length = 0;                           // mean Euclidean length of a test image
  Fidelity fidelity;                                 // of the form, on the test images
  Controls controls;                                 // of that form
  std::string figures;                               // the folder they are in; "": none were written

  double shown_strength() const { return strengths[shown]; }
};

// Error (usage) for a strength outside 0 to 1000.
Attack attack(const Engine& engine, const AttackRequest& request);
Attack attack(const Engine& engine, ImageRun& run, const AttackRequest& request);
OrderedJson to_json(const Attack& result);

// Over the classes: mean and standard deviation of the success, mean of the accuracy.
struct AttackSummary {
  double success = 0, success_sd = 0, accuracy = 0, accuracy_sd = 0;
};
AttackSummary summary(const Attack& attack, AttackGoal goal, MaskKind kind, size_t strength);

// The figures of an attack: the curves, the masks, and images before and after.

std::vector<FigureFile> draw_attack(const Attack& attack, const std::string& folder);

}  // namespace glint
