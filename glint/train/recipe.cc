// Reading a recipe: flat TOML whose keys are the names of the option table.
#include <toml++/toml.h>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/train/options.h"

namespace glint {

std::vector<RecipeKey> apply_recipe(TrainOptions& options, const std::string& path) {
  const std::string text = read_file(path, size_t{1} << 20);
  const auto place = [&](const toml::source_region& r) {
    return path + ", line " + std::to_string(r.begin.line);
  };
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    throw Error({.code = ErrorCode::bad_file,
                 .what = "not a recipe: " + std::string(e.description()),
                 .where = place(e.source()),
                 .expected = "TOML, one `key = value` a line"});
  }
  const std::vector<OptionSpec> specs = option_table(options);
  std::vector<std::string> names;
  std::vector<RecipeKey> keys;
  for (const OptionSpec& s : specs) names.push_back(s.name);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where = place(node.source());
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const OptionSpec& s) { return s.name == name; });
    if (spec == specs.end())
      throw Error({.code = ErrorCode::bad_file,
                   .what = "unknown key '" + name + "' in the recipe",
                   .where = where,
                   .expected = suggest(name, names)});
    // A whole number is fine where a fraction is asked for, and the other way round set_option says what is
    // wrong.
    std::string value;
    const bool text_wanted = std::holds_alternative<std::string*>(spec->value),
               switch_wanted = std::holds_alternative<bool*>(spec->value);
    if (const auto* s = node.as_string(); s && text_wanted)
      value = s->get();
    else if (const auto* b = node.as_boolean(); b && switch_wanted)
      value = b->get() ? "true" : "false";
    else if (const auto* i = node.as_integer(); i && !text_wanted && !switch_wanted)
      value = std::to_string(i->get());
    else if (const auto* d = node.as_floating_point(); d && !text_wanted && !switch_wanted)
      value = Json(d->get()).dump();
    else
      throw Error({.code = ErrorCode::bad_file,
                   .what = "'" + name + "' has a value of the wrong type",
                   .where = where,
                   .expected = text_wanted     ? "a \"string\""
                               : switch_wanted ? "true or false"
                                               : "a number"});
    try {
      set_option(*spec, value, where);
    } catch (const Error& e) {  // made for the command line; here it is a file that is wrong
      ErrorParts parts = e.parts();
      parts.code = ErrorCode::bad_file;
      throw Error(parts);
    }
    keys.push_back({name, where});
  }
  return keys;
}

}  // namespace glint
