// The fields of a request, described once beside it: name, help, range, and which models they are for. The
// options of the program, JSON in and out, Python's signatures, keys of stored work and the tables in the
// documents are all made from this list.
//
//   std::vector<Field> fields_of(NeuronsRequest& q) {
//     return join(fields_of(q.source), {
//         Field("layer", q.layer, "Which layer, from 1 on; default: all").range(1, 1000),
//         Field("figures", q.figures, "Write no figures"),
//     });
//   }
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glint/io/json.h"
#include "glint/io/json_fwd.h"

namespace glint {

// A short form: each text is appended to a list, behind a word that says what it is.
struct Prefixed {
  std::vector<std::string>* all;
  std::string prefix;
};

// An enum, by the place of its word among the choices.
struct Chosen {
  std::function<size_t()> get;
  std::function<void(size_t)> set;
};

using FieldValue =
    std::variant<bool*, std::string*, double*, uint64_t*, std::optional<uint64_t>*, std::vector<std::string>*,
                 std::vector<double>*, std::vector<uint64_t>*, Prefixed, Chosen>;

// Which models a field means something for. own: runs of glint; foreign: models of other programs.
enum class For { all, images, language, own, foreign };
std::string_view name(For who);         // "images"
std::string_view models_text(For who);  // "image models"

class Field {
 public:
  enum class Kind { word, file, directory };

  // The value that is there now is the default. A flag whose default is true is switched off by the program's
  // --no-NAME, and its help says what that does.
  Field(std::string name_, FieldValue value_, std::string help_)
      : name(std::move(name_)), help(std::move(help_)), value(std::move(value_)) {}
  template <class T>
  requires std::constructible_from<FieldValue, T*> &&
      (!std::is_enum_v<T>)Field(std::string name_, T& value_, std::string help_)
      : Field(std::move(name_), FieldValue(&value_), std::move(help_)) {}
  template <class E>
  requires std::is_enum_v<E> Field(std::string name_, E& value_, std::string help_, std::vector<std::string> words)
      : Field(std::move(name_),
              FieldValue(Chosen{[&value_] { return static_cast<size_t>(value_); },
                                [&value_](size_t i) { value_ = static_cast<E>(i); }}),
              std::move(help_)) {
    choices = std::move(words);
  }

  Field& range(double from, double to) { return low = from, high = to, *this; }
  Field& one_of(std::vector<std::string> words) { return choices = std::move(words), *this; }
  Field& suggest(std::vector<std::string> words) { return suggested = std::move(words), *this; }
  Field& shown(std::string word) { return placeholder = std::move(word), *this; }
  Field& file(std::string word = "FILE") { return kind = Kind::file, shown(std::move(word)); }
  Field& directory(std::string word = "DIR") { return kind = Kind::directory, shown(std::move(word)); }
  Field& images() { return who = For::images, *this; }
  Field& language() { return who = For::language, *this; }
  Field& own() { return who = For::own, *this; }
  Field& foreign() { return who = For::foreign, *this; }
  // An argument of the program without a flag, and one that must be there.
  Field& argument(std::string word) { return is_argument = true, shown(std::move(word)); }
  Field& required() { return is_required = true, *this; }

  std::string name, help;
  FieldValue value;
  std::vector<std::string> choices = {};    // of a text; empty: any
  std::vector<std::string> suggested = {};  // beside others
  double low = 0, high = 0;                 // of a number, when low < high
  For who = For::all;
  std::string placeholder = {};
  Kind kind = Kind::word;
  bool is_argument = false, is_required = false;
};

std::vector<Field> join(std::vector<Field> first, std::vector<Field> second);
// Those but for some names.
std::vector<Field> without(std::vector<Field> fields, std::span<const std::string_view> names);
// The field of a name, or null.
const Field* find_field(std::span<const Field> fields, std::string_view name);

// "a whole number from 1 to 1000", "true or false".
std::string domain(const Field& field);

// Sets a field from what was typed; lists of numbers have commas between, and a list of texts grows by one.
// Error (usage) with the name as a parameter, the domain and the nearest word. `where` names the flag or the
// line of a recipe; "": the field.
void set_field(const Field& field, std::string_view text, const std::string& where = "");
// The same from JSON, with its types: numbers are no texts. null leaves it. A list may be given as one value.
void set_field_json(const Field& field, const Json& value);
// From an object. Error (usage) for a name that is not there, with the nearest.
void set_fields(std::span<const Field> fields, const Json& values);

Json field_json(const Field& field);
Json fields_json(std::span<const Field> fields);
// "scaled", "0.5", "1,2"; "" for none.
std::string field_text(const Field& field);

// What Python's signatures and the documents are made from: a list of objects with name, type ("text", "flag",
// "number", "count", "maybe count", "texts", "numbers", "counts", "word"), help, default, and where they are
// there choices, suggested, low, high, for, required and kind ("file", "directory").
OrderedJson describe_fields(std::span<const Field> fields);

// Error (usage) for a value outside its range or choices: of requests that were filled in by a program.
void check_fields(std::span<const Field> fields);
// The same of a request, before anything is opened.
template <class Request>
void check_ranges(Request request) {
  check_fields(fields_of(request));
}

// What a model is, as far as fields are for some models only.
struct ModelTraits {
  bool language = false, foreign = false;
};
// Error (usage) for a field that has another value than in `usual` and means nothing for this model: "`unit` is
// for image models". `where` is the model.
void refuse_other_models(std::span<const Field> fields, std::span<const Field> usual, ModelTraits model,
                         const std::string& where);

// Both checks of a request. Every call of lab makes them before it does any work.
template <class Request>
void check_request(Request request, ModelTraits model, const std::string& where) {
  Request usual;
  const std::vector<Field> fields = fields_of(request);
  check_fields(fields);
  refuse_other_models(fields, fields_of(usual), model, where);
}

// The values of one request where the other has fields of the same names.
void copy_fields(std::span<const Field> from, std::span<const Field> to);

}  // namespace glint
