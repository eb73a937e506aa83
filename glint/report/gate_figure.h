// Figure 1 of the paper: the gates as functions of their input.
#pragma once

#include "glint/kernels/gates.h"
#include "glint/report/chart.h"

namespace glint {

// The options of SQS in the paper's figure; larger in c than for training, so that the jump shows.
inline constexpr GateParams kFigureParams = {.c = 0.5, .lambda = 0.5, .p = 1};

// ReLU, GELU, Swish, SQS and x SQS(x) from -4 to 4. The jump of SQS at 0 is a gap: a filled dot is the value
// there, an open one the limit from the left.
Chart gate_figure(const GateParams& sqs);

}  // namespace glint
