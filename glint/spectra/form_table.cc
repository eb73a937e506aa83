#include "glint/spectra/forms.h"

#include "glint/spectra/calibration.h"
#include "glint/spectra/scaled.h"

namespace glint {
namespace {

constexpr FormFunctions kweights = {.fit = [](const FormData& d) { return weights_form(d.reader.layer); }};
constexpr FormFunctions kscaled = {.fit = [](const FormData& d) { return scaled_form(d.reader, d.outputs, d.x); },
                                   .has = has_scaled_form,
                                   .check = check_scaled_form};
constexpr FormFunctions kcalibrated = {.fit = [](const FormData& d) { return best_line(d.reader, d.outputs, d.x); }};
constexpr FormFunctions klocal = {};

constexpr FormFunctions kFunctions[] = {
#define GLINT_FORM_FUNCTIONS(name, ...) k##name,
    GLINT_FORMS(GLINT_FORM_FUNCTIONS)
#undef GLINT_FORM_FUNCTIONS
};

}  // namespace

const FormFunctions& form_functions(Form form) { return kFunctions[static_cast<size_t>(form)]; }

}  // namespace glint
