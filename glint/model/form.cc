#include "glint/model/form.h"

#include "glint/base/error.h"
#include "glint/base/text.h"

namespace glint {

std::vector<std::string> form_words(FormNeeds most) {
  std::vector<std::string> words = {"auto"};
  for (const FormInfo& f : kFormTable)
    if (f.needs <= most) words.emplace_back(f.name);
  return words;
}

Form parse_form(const std::string& word, FormNeeds most) {
  for (const FormInfo& f : kFormTable)
    if (f.needs <= most && f.name == word) return f.form;
  throw Error({.code = ErrorCode::usage,
               .what = "unknown form '" + word + "'",
               .where = "form",
               .expected = suggest(word, form_words(most))});
}

std::optional<Form> asked_form(const std::string& word, FormNeeds most) {
  if (word == "auto") return std::nullopt;
  return parse_form(word, most);
}

Form default_form(GateKind gate, bool has_data) {
  if (!has_data) return Form::weights;
  return gate_info(gate).text.parity == Parity::odd ? Form::scaled : Form::calibrated;
}

}  // namespace glint
