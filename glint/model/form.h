// The forms: ways to read a gated layer as a quadratic form of its input (spectra/forms.h). This is the table that
// everything takes them from: names, help, choices, files. To add one, add a line, and its functions in
// spectra/forms.cc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/kernels/gates.h"

namespace glint {

// X(name, needs, linear part, by size, summary)
#define GLINT_FORMS(X)                                                                              \
  X(weights, nothing, false, false,                                                                 \
    "the weights alone: gain 1 for odd gates, 1/2 (the even part of the layer) for the others")     \
  X(scaled, data, false, true,                                                                      \
    "a gain per hidden unit that shrinks with the size of the input: nothing but eigenvectors")     \
  X(calibrated, data, true, false,                                                                  \
    "a line per hidden unit, fitted to data: its shifts are a linear part beside the eigenvectors") \
  X(local, input, true, false, "the gates as they are at one input: exact, for that input only")

enum class Form : uint8_t {
#define GLINT_FORM_NAME(name, ...) name,
  GLINT_FORMS(GLINT_FORM_NAME)
#undef GLINT_FORM_NAME
};

enum class FormNeeds { nothing, data, input };  // input: it is the form of one input alone

struct FormInfo {
  Form form;
  std::string_view name;
  FormNeeds needs;
  bool linear_part;  // it may have one beside its eigenvectors
  bool by_size;      // its coefficients may depend on the size of the layer's input
  std::string_view summary;
};

inline constexpr FormInfo kFormTable[] = {
#define GLINT_FORM_ROW(name, needs, linear, by_size, summary) \
  {Form::name, #name, FormNeeds::needs, linear, by_size, summary},
    GLINT_FORMS(GLINT_FORM_ROW)
#undef GLINT_FORM_ROW
};
inline constexpr size_t kForms = std::size(kFormTable);

inline const FormInfo& form_info(Form form) { return kFormTable[static_cast<size_t>(form)]; }
inline std::string name(Form form) { return std::string(form_info(form).name); }

// "auto", then the forms that need no more than this: what people may ask for.
std::vector<std::string> form_words(FormNeeds most = FormNeeds::data);
// Error (usage) for a word that is none of them; "auto" is no form.
Form parse_form(const std::string& word, FormNeeds most = FormNeeds::data);
// The same, but empty for "auto".
std::optional<Form> asked_form(const std::string& word, FormNeeds most = FormNeeds::data);
// What "auto" means: the form that says most of a gate.
Form default_form(GateKind gate, bool has_data);

// One T per form.
template <class T>
class PerForm {
 public:
  T& operator[](Form f) { return of_[static_cast<size_t>(f)]; }
  const T& operator[](Form f) const { return of_[static_cast<size_t>(f)]; }

 private:
  std::array<T, kForms> of_{};
};

}  // namespace glint
