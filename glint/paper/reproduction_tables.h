// The tables of the reproduction, from measured numbers: for people with the paper beside them, and in long
// form for files.
#pragma once

#include <span>

#include "glint/paper/measured.h"
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

// Figure 2A: pictures and the classes that they speak for. SQS with other options. Language models layer by
// layer.
ReportTable match_table(std::span<const ClassMatch> matches);
ReportTable choice_table(std::span<const GateChoice> choices);
ReportTable language_table(std::span<const LanguageLayer> layers);

// The paper's times beside ours are on its authors' GPU.
ReportTable timing_table(std::span<const TimedGate> times);
TimingNumbers timing_numbers(std::span<const TimedGate> times);

}  // namespace glint
