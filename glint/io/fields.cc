#include "glint/io/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "glint/base/error.h"
#include "glint/base/range.h"
#include "glint/base/text.h"

namespace glint {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

std::string parameter_of(const Field& field) {
  std::string name = field.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

[[noreturn]] void refuse_field(const Field& field, std::string_view text, const std::string& where,
                               const std::string& expected) {
  bad_argument(where.empty() ? parameter_of(field) : where,
               "`" + parameter_of(field) + "` cannot be '" + std::string(text) + "'", expected);
}

bool in_range(const Field& field, double v) {
  return std::isfinite(v) && !(field.low < field.high && (v < field.low || v > field.high));
}

// What is expected instead of a word.
std::string expected_words(const Field& field, std::string_view text) {
  return field.choices.empty() ? "at least one character" : suggest(text, field.choices);
}

bool known_word(const Field& field, const std::string& word) {
  return field.choices.empty() || std::ranges::find(field.choices, word) != field.choices.end();
}

// The whole word must be the number, in the decimal system; from_chars does not know the plus sign.
template <class T>
T parse_number(const Field& field, std::string_view text, const std::string& where) {
  std::string_view word = text;
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  T value{};
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc() || end != word.data() + word.size() || !in_range(field, static_cast<double>(value)))
    refuse_field(field, text, where, domain(field));
  return value;
}

std::vector<std::string> comma_words(std::string_view text) {
  if (text.empty()) return {};
  std::vector<std::string> words = split(text, ',');
  for (std::string& word : words) word = trimmed(word);
  return words;
}

size_t place_of(const Field& field, std::string_view word, const std::string& where) {
  const auto found = std::ranges::find(field.choices, word);
  if (found == field.choices.end()) refuse_field(field, word, where, expected_words(field, word));
  return static_cast<size_t>(found - field.choices.begin());
}

template <class T>
T json_value(const Field& field, const Json& v) {
  const auto wrong = [&] { refuse_field(field, v.dump(), "", domain(field)); };
  if constexpr (std::is_same_v<T, bool>) {
    if (!v.is_boolean()) wrong();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!v.is_string()) wrong();
    if (!known_word(field, v.get<std::string>()))
      refuse_field(field, v.get<std::string>(), "", expected_words(field, v.get<std::string>()));
  } else {
    if (std::is_same_v<T, double> ? !v.is_number() : !v.is_number_unsigned()) wrong();
    if (!in_range(field, v.get<double>())) wrong();
  }
  return v.get<T>();
}

// A list, or one value that stands for a list of it.
template <class T>
std::vector<T> json_values(const Field& field, const Json& v) {
  if (!v.is_array()) return {json_value<T>(field, v)};
  std::vector<T> all;
  for (const Json& one : v) all.push_back(json_value<T>(field, one));
  return all;
}

}  // namespace

std::string_view name(For who) {
  constexpr std::string_view kNames[] = {"all", "images", "language", "own", "foreign"};
  return kNames[static_cast<size_t>(who)];
}

std::string_view models_text(For who) {
  constexpr std::string_view kTexts[] = {"all models", "image models", "language models", "runs of glint",
                                         "models of other programs"};
  return kTexts[static_cast<size_t>(who)];
}

std::vector<Field> join(std::vector<Field> first, std::vector<Field> second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
  return first;
}

std::vector<Field> without(std::vector<Field> fields, std::span<const std::string_view> names) {
  std::erase_if(fields, [&](const Field& f) { return std::ranges::find(names, f.name) != names.end(); });
  return fields;
}

const Field* find_field(std::span<const Field> fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

std::string domain(const Field& field) {
  const auto number = [&](const char* kind) {
    return field.low < field.high ? range_text(field.low, field.high, kind) : std::string(kind);
  };
  return std::visit(
      Overloaded{[](bool*) -> std::string { return "true or false"; },
                 [&](double*) { return field.low < field.high ? number("a number") : std::string("a finite number"); },
                 [&](uint64_t*) { return number("a whole number"); },
                 [&](std::optional<uint64_t>*) { return number("a whole number"); },
                 [](std::vector<double>*) -> std::string {
                   return "finite numbers with commas between them, such as -1,0,0.5";
                 },
                 [](std::vector<uint64_t>*) -> std::string { return "whole numbers with commas between"; },
                 [](const auto&) -> std::string { return "text"; }},
      field.value);
}

void set_field(const Field& field, std::string_view text, const std::string& where) {
  std::visit(Overloaded{[&](bool* v) {
                          if (text != "true" && text != "false") refuse_field(field, text, where, "true or false");
                          *v = text == "true";
                        },
                        [&](std::string* v) {
                          if (text.empty() || !known_word(field, std::string(text)))
                            refuse_field(field, text, where, expected_words(field, text));
                          *v = text;
                        },
                        [&](double* v) { *v = parse_number<double>(field, text, where); },
                        [&](uint64_t* v) { *v = parse_number<uint64_t>(field, text, where); },
                        [&](std::optional<uint64_t>* v) { *v = parse_number<uint64_t>(field, text, where); },
                        [&](std::vector<std::string>* v) { v->emplace_back(text); },
                        [&](std::vector<double>* v) {
                          v->clear();
                          for (const std::string& w : comma_words(text))
                            v->push_back(parse_number<double>(field, w, where));
                        },
                        [&](std::vector<uint64_t>* v) {
                          v->clear();
                          for (const std::string& w : comma_words(text))
                            v->push_back(parse_number<uint64_t>(field, w, where));
                        },
                        [&](const Prefixed& v) { v.all->push_back(v.prefix + std::string(text)); },
                        [&](const Chosen& v) { v.set(place_of(field, text, where)); }},
             field.value);
}

void set_field_json(const Field& field, const Json& value) {
  if (value.is_null()) return;
  std::visit(Overloaded{[&](const Prefixed& v) {
                          for (const std::string& text : json_values<std::string>(field, value))
                            if (!text.empty()) v.all->push_back(v.prefix + text);  // "" is none
                        },
                        [&](const Chosen& v) { v.set(place_of(field, json_value<std::string>(field, value), "")); },
                        [&](std::optional<uint64_t>* v) { *v = json_value<uint64_t>(field, value); },
                        [&]<class T>(T* v) {
                          if constexpr (IsList<T>::value)
                            *v = json_values<typename T::value_type>(field, value);
                          else
                            *v = json_value<T>(field, value);
                        }},
             field.value);
}

void set_fields(std::span<const Field> fields, const Json& values) {
  for (const auto& [key, value] : values.items()) {
    const Field* const field = find_field(fields, key);
    if (!field) {
      std::vector<std::string> names;
      for (const Field& f : fields) names.push_back(f.name);
      bad_argument(key, "there is no `" + key + "` here", suggest(key, names));
    }
    set_field_json(*field, value);
  }
}

Json field_json(const Field& field) {
  return std::visit(Overloaded{[](const Prefixed&) { return Json(nullptr); },
                               [&](const Chosen& v) { return Json(field.choices[v.get()]); },
                               [](const std::optional<uint64_t>* v) { return *v ? Json(**v) : Json(nullptr); },
                               [](const auto* v) { return Json(*v); }},
                    field.value);
}

Json fields_json(std::span<const Field> fields) {
  Json json = Json::object();
  for (const Field& field : fields)
    if (!std::holds_alternative<Prefixed>(field.value)) json[field.name] = field_json(field);
  return json;
}

std::string field_text(const Field& field) {
  const Json json = field_json(field);
  if (json.is_null()) return "";
  if (const double* const* v = std::get_if<double*>(&field.value)) return number_text(**v);
  if (!json.is_array()) return json.is_string() ? json.get<std::string>() : json.dump();
  std::string text;
  for (const Json& one : json)
    text += (text.empty() ? "" : ",") + (one.is_number_float() ? number_text(one.get<double>())
                                         : one.is_string()     ? one.get<std::string>()
                                                               : one.dump());
  return text;
}

OrderedJson describe_fields(std::span<const Field> fields) {
  constexpr const char* kTypes[] = {"flag",  "text",    "number", "count", "maybe count",
                                    "texts", "numbers", "counts", "texts", "word"};
  static_assert(std::size(kTypes) == std::variant_size_v<FieldValue>);
  OrderedJson all = OrderedJson::array();
  for (const Field& f : fields) {
    OrderedJson j = {{"name", f.name}, {"type", kTypes[f.value.index()]}, {"help", f.help}};
    j["default"] = OrderedJson::parse(field_json(f).dump());
    if (!f.choices.empty()) j["choices"] = f.choices;
    if (!f.suggested.empty()) j["suggested"] = f.suggested;
    if (f.low < f.high) j["low"] = f.low, j["high"] = f.high;
    if (f.who != For::all) j["for"] = name(f.who);
    if (f.is_required) j["required"] = true;
    if (f.kind != Field::Kind::word) j["kind"] = f.kind == Field::Kind::file ? "file" : "directory";
    all.push_back(std::move(j));
  }
  return all;
}

void check_fields(std::span<const Field> fields) {
  for (const Field& f : fields) {
    const Json value = field_json(f);
    const auto check = [&](const Json& one) {
      if (one.is_number() && !in_range(f, one.get<double>())) refuse_field(f, one.dump(), "", domain(f));
      if (one.is_string() && !known_word(f, one.get<std::string>()))
        refuse_field(f, one.get<std::string>(), "", expected_words(f, one.get<std::string>()));
    };
    if (value.is_array())
      std::ranges::for_each(value, check);
    else
      check(value);
  }
}

void refuse_other_models(std::span<const Field> fields, std::span<const Field> usual, ModelTraits model,
                         const std::string& where) {
  const auto fits = [&](For who) {
    return who == For::all || (who == For::images && !model.language) || (who == For::language && model.language) ||
           (who == For::own && !model.foreign) || (who == For::foreign && model.foreign);
  };
  for (size_t i = 0; i < fields.size(); i++) {
    const Field& f = fields[i];
    if (fits(f.who) || field_json(f) == field_json(usual[i])) continue;
    bad_argument(where, "`" + parameter_of(f) + "` is for " + std::string(models_text(f.who)),
                 "one of those, or no `" + parameter_of(f) + "`");
  }
}

void copy_fields(std::span<const Field> from, std::span<const Field> to) {
  for (const Field& f : from)
    if (const Field* const target = find_field(to, f.name)) set_field_json(*target, field_json(f));
}

}  // namespace glint
