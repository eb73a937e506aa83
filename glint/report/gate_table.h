// The gates for people and for other programs: figure 1 of the paper, and their table as JSON, as JavaScript for the
// page, as Python for exported models. All of it comes from the structs of kernels/gates.h.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "glint/kernels/gates.h"
#include "glint/report/chart.h"

namespace glint {

// name, title, aliases, value and derivative (formulas), code (GLINT_GATE_CODE), parity ("odd",
// "half-linear", "other"), glu, options (their names and defaults).
nlohmann::ordered_json gate_json(const GateInfo& gate);

// The text of web/gates.js with every gate in its table.
std::string gates_javascript(std::string_view source);

// The words of the code as functions of PyTorch, and the dictionary GATES: name -> function of (h, c, lam,
// p).
std::string gates_python();

// Figure 1 of the paper: the gates as functions of their input.

// The options of SQS in the paper's figure; larger in c than for training, so that the jump shows.
inline constexpr GateParams kFigureParams = {.c = 0.5, .lambda = 0.5, .p = 1};

// ReLU, GELU, Swish, SQS and x SQS(x) from -4 to 4. The jump of SQS at 0 is a gap: a filled dot is the value
// there, an open one the limit from the left.
Chart gate_figure(const GateParams& sqs);

}  // namespace glint
