// Everything that defines a training run, and the one table of it: the command line, the recipes, run.json
// and the documents all read this table, so that a name means the same thing everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/io/fields.h"
#include "glint/io/json.h"
#include "glint/kernels/gemm.h"
#include "glint/model/classifier.h"
#include "glint/model/transformer.h"

namespace glint {

struct TrainOptions {
  std::string data = "glyphs";
  // model
  std::string gate = "sqs";
  double c = 0.01, lambda = 0.5, p = 1;
  uint64_t layers = 1, d_model = 256, d_hidden = 0;
  bool bias = false, residual = false;
  std::string norm = "none";
  uint64_t heads = 4, context = 256;
  LlamaShape shape = {};
  std::string init;  // a model to go on from
  uint64_t epoch_stories = 0;
  double distil = 0;  // how much of what is learned is what that model says
  // optimiser
  uint64_t batch = 2048, epochs = 20;
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.1, clip = 0;
  std::string schedule = "cosine-epoch";
  uint64_t warmup = 0, micro_batch = 16;
  // input
  double noise_std = 1.0, noise_prob = 0.5;
  bool drop_last = true;
  // the run
  uint64_t seed = 0;
  std::string precision = "f32";
  uint64_t eval_steps = 0, eval_first = 0;
  // Follows from the data, not from an option. True: a language model (TextTask); false: a classifier.
  bool text = false;
};

// One field per option, named as --name and as the key of a recipe.
std::vector<Field> fields_of(TrainOptions& options);
// Whether an option means something for the kind of model.
bool applies(const Field& option, const TrainOptions& options);
// Whether an option changes anything in a model with these options: c, lambda and p only for a gate that has
// them, p only where there is a shrink.
bool means_something(std::string_view option, const TrainOptions& options);
// set_field, which also knows the aliases of gates.
void set_option(const Field& option, std::string_view text, const std::string& where);

// Only the options that apply; those of the shape of Llama and of what training goes on from only where they differ
// from the defaults.
Json options_to_json(const TrainOptions& options);
// Unknown keys and values of the wrong type or outside their domain are Errors (bad_file).
TrainOptions options_from_json(const Json& json, const std::string& where);

// A key of a recipe, and its file and line.
struct RecipeKey {
  std::string name, where;
};
// The text of a recipe, and what to call it.
struct Recipe {
  std::string name, where, text;
};
struct BuiltInRecipe {
  std::string_view name, text;
};
// The files of recipes/ as they were when the library was built, sorted by name.
std::span<const BuiltInRecipe> built_in_recipes();
// "mnist-4.1" or a path: a file of that path, else NAME.toml in the first of the folders that has it, else
// the built-in one. Error (usage) with the nearest name, Error (bad_file) for a file of more than 64 kB.
Recipe find_recipe(const std::string& name, const std::vector<std::string>& folders);
Recipe read_recipe(const std::string& path);
// All that find_recipe knows, sorted.
std::vector<std::string> recipe_names(const std::vector<std::string>& folders);
// Overwrites what the recipe names, and gives its keys. Error (bad_file) with file, line and the nearest key.
std::vector<RecipeKey> apply_recipe(TrainOptions& options, const Recipe& recipe);
std::vector<RecipeKey> apply_recipe(TrainOptions& options, const std::string& path);

// Checks across options, and the parts that the engine wants.
void check(const TrainOptions& options);
ClassifierConfig classifier_config(const TrainOptions& options, size_t inputs, size_t classes);
TransformerConfig transformer_config(const TrainOptions& options, size_t vocab);

}  // namespace glint
