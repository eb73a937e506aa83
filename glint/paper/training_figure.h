// Figures of training runs: curves with the spread over seeds, and accuracy over depth.
#pragma once

#include "glint/paper/measured.h"
#include "glint/report/chart.h"

namespace glint {

// Figure 3 of the paper: the loss (log) over steps, and the metric over steps (log). Line: mean over seeds at
// the steps that all seeds were evaluated at; band: one standard deviation.
Chart loss_figure(const TaskRuns& task);
Chart metric_figure(const TaskRuns& task);

// Accuracy at the end over the number of layers, one line per gate.
Chart depth_figure(const std::vector<DepthPoint>& points, const std::string& data,
                   const std::string& norm = "none");

// One colour and stroke a gate, everywhere.
Series gate_series(std::string_view gate);

}  // namespace glint
