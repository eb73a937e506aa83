// Recipes: flat TOML whose keys are the names of the option table, in files or built into the library.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/io/flat_toml.h"
#include "glint/train/options.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

// Some hundred times what a recipe needs, and what is read from it stays below the promise of SECURITY.md.
constexpr size_t kMaxRecipeBytes = size_t{64} << 10;

std::string shown(const std::string& text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

// A fraction of a recipe as set_option reads it: 2.0 does not become a whole number.
std::string number_text(double v) {
  char buffer[40];
  const std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
  return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
}

// The text for set_option, when the value is of the kind that the option has. A whole number is fine where a
// fraction is asked for, and the other way round set_option says what is wrong.
std::string value_text(const Field& spec, const TomlLine& line, const std::string& where) {
  const bool text_wanted = std::holds_alternative<std::string*>(spec.value),
             switch_wanted = std::holds_alternative<bool*>(spec.value);
  if (const std::string* s = std::get_if<std::string>(&line.value); s && text_wanted) return *s;
  if (const bool* b = std::get_if<bool>(&line.value); b && switch_wanted) return *b ? "true" : "false";
  if (!text_wanted && !switch_wanted) {
    if (const int64_t* i = std::get_if<int64_t>(&line.value)) return std::to_string(*i);
    if (const double* d = std::get_if<double>(&line.value)) return number_text(*d);
  }
  throw Error({.code = ErrorCode::bad_file,
               .what = "'" + spec.name + "' has a value of the wrong type",
               .where = where,
               .expected = text_wanted     ? "a \"string\""
                           : switch_wanted ? "true or false"
                                           : "a number"});
}

// Error (failure) when the system does not tell. A name that can be no path is no recipe.
bool is_recipe_file(const std::string& path) {
  std::error_code ignored;
  try {
    return exists(path) && fs::is_regular_file(path, ignored);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_file) throw;
    return false;
  }
}

// The names of the recipes in a folder; none when there is no such folder.
void add_names(const std::string& folder, std::vector<std::string>& names) {
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error))
    if (at->path().extension() == ".toml") names.push_back(at->path().stem().string());
}

}  // namespace

Recipe read_recipe(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  if (name.ends_with(".toml")) name.resize(name.size() - 5);
  return {.name = name, .where = path, .text = read_file(path, kMaxRecipeBytes)};
}

std::vector<std::string> recipe_names(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) add_names(folder, names);
  for (const BuiltInRecipe& r : built_in_recipes()) names.emplace_back(r.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Recipe find_recipe(const std::string& name, const std::vector<std::string>& folders) {
  if (is_recipe_file(name)) return read_recipe(name);
  for (const std::string& folder : folders)
    if (const std::string path = folder + "/" + name + ".toml"; is_recipe_file(path)) return read_recipe(path);
  for (const BuiltInRecipe& r : built_in_recipes())
    if (name == r.name) return {.name = name, .where = "recipe " + name + " (built in)", .text = std::string(r.text)};
  std::string looked = "looked in ";
  for (const std::string& folder : folders) looked += folder + ", ";
  throw Error({.code = ErrorCode::usage,
               .what = "no recipe '" + shown(name) + "'",
               .where = looked + "and in glint itself",
               .expected = suggest(shown(name), recipe_names(folders)),
               .hint = "a recipe of your own is given by its path: `train(./my.toml)`"});
}

std::vector<RecipeKey> apply_recipe(TrainOptions& options, const Recipe& recipe) {
  const std::vector<Field> specs = fields_of(options);
  std::vector<std::string> names;
  std::vector<RecipeKey> keys;
  for (const Field& s : specs) names.push_back(s.name);
  for (const TomlLine& line : parse_flat_toml(recipe.text, recipe.where)) {
    const std::string where = place_of_line(recipe.where, line.line);
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const Field& s) { return s.name == line.key; });
    if (spec == specs.end())
      throw Error({.code = ErrorCode::bad_file,
                   .what = "unknown key '" + shown(line.key) + "' in the recipe",
                   .where = where,
                   .expected = suggest(shown(line.key), names)});
    try {
      set_option(*spec, value_text(*spec, line, where), where);
    } catch (const Error& e) {  // what is wrong is in the file, not on the command line
      ErrorParts parts = e.parts();
      parts.code = ErrorCode::bad_file;
      parts.what = shown(parts.what);
      throw Error(parts);
    }
    keys.push_back({line.key, where});
  }
  return keys;
}

std::vector<RecipeKey> apply_recipe(TrainOptions& options, const std::string& path) {
  return apply_recipe(options, read_recipe(path));
}

}  // namespace glint
