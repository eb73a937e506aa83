// Data efficiency, "loss vs training iteration": how many steps SQS takes to a loss that a rival had after a
// share of its training.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "glint/paper/measured.h"
#include "glint/report/report_page.h"

namespace glint {

inline constexpr std::array<double, 4> kEfficiencyShares = {0.10, 0.25, 0.50, 0.75};

// Both read the curve along straight lines between evaluations. The loss at a step; NaN before the first
// evaluation and after the last. The first step with at most this loss; infinite when there is none.
double loss_at(const RunCurve& run, double step);
double step_to(const RunCurve& run, double loss);

// [seeds that both have]: the steps of SQS to the loss that the rival had after this share of its training,
// divided by the rival's steps. Infinite where SQS never gets there; a rival that was not evaluated so early
// is left out.
std::vector<double> step_ratios(const TaskRuns& task, std::string_view rival, double share);

ReportTable efficiency_table(std::span<const TaskRuns> tasks);

}  // namespace glint
