// The table of gates for other languages and programs: as JSON, as JavaScript for the page, as Python for
// exported models. All of it comes from the structs of kernels/gates.h.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "glint/kernels/gates.h"

namespace glint {

// name, title, aliases, value and derivative (formulas), code (GLINT_GATE_CODE), parity ("odd",
// "half-linear", "other"), glu, options (their names and defaults).
nlohmann::ordered_json gate_json(const GateInfo& gate);

// The text of web/gates.js with every gate in its table.
std::string gates_javascript(std::string_view source);

// The words of the code as functions of PyTorch, and the dictionary GATES: name -> function of (h, c, lam,
// p).
std::string gates_python();

}  // namespace glint
