// The tables of the reproduction, from measured numbers: for people with the paper beside them, and in long
// form for files.
#pragma once

#include <span>
#include <vector>

#include "glint/report/measured.h"
#include "glint/report/report_page.h"

namespace glint {

// Table 1: mean and standard deviation over seeds at the four checkpoints, the paper's value and the
// deviation from it below. The best mean of a column of a data set is strong.
ReportTable table1(std::span<const TaskRuns> tasks);

// SQS minus each rival at the end of training, with confidence intervals over seeds.
ReportTable paired_table(std::span<const TaskRuns> tasks);

// Language models at the four checkpoints: training loss, validation loss and perplexity apart, beside the
// paper's two columns.
ReportTable story_table(const TaskRuns& task);

// First steps at which a test accuracy was reached.
ReportTable milestone_table(std::span<const TaskRuns> tasks);

ReportTable depth_table(std::span<const DepthPoint> points);
ReportTable trust_table(std::span<const FormTrust> trust);
ReportTable energy_table(std::span<const SpectrumShare> spectra);
ReportTable similarity_table(std::span<const SimilarityCurve> curves);

// One measured time of the timing table; the paper's beside it is on its authors' GPU.
struct TimedGate {
  size_t batch = 0, width = 0;
  std::string gate;  // "products": the bare matrix products
  double median_ms = 0, low_ms = 0, high_ms = 0;
  size_t repeats = 0;
};
ReportTable timing_table(std::span<const TimedGate> times);
TimingNumbers timing_numbers(std::span<const TimedGate> times);

}  // namespace glint
