// Whether measured numbers fit together, so that rules, tables and figures may rely on it.
#pragma once

#include <string>

#include "glint/paper/measured.h"

namespace glint {

// Error (bad_file) that names what does not fit; `where` is the file.
void check_measured(const Measured& measured, const std::string& where);

}  // namespace glint
