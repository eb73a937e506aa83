// The workplace of measuring: the plan, its finished runs, the data, and what has been measured so far. Only
// the measure_*.cc files and measure.cc use it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glint/lab/work/engine.h"
#include "glint/lab/work/jobs.h"
#include "glint/paper/hooks.h"
#include "glint/paper/measured.h"
#include "glint/paper/plan.h"

namespace glint {

struct ModelReading;  // measure_reading.h

struct Measuring {
  const Engine& engine;
  TrainingData& data;
  const Plan& plan;
  std::string out;
  const PaperHooks& hooks;
  Measured measured = {};  // its runs are those of the plan, one for one, from the beginning
  std::map<std::string, std::shared_ptr<const ModelReading>> readings = {};  // by directory

  std::string directory(const PlannedRun& run) const { return run.directory(out); }
  // The finished runs of a group with this gate, in the order of the plan.
  std::vector<const PlannedRun*> finished(const std::string& group, std::string_view gate) const;
  // How many of them failed.
  size_t failed(const std::string& group, std::string_view gate) const;
  // Error (interrupted) when the engine is asked to stop.
  void check_stop(const std::string& while_doing) const;
};

// Each fills its part of `measured`, once; nothing when its runs are not finished.
void measure_images(Measuring& m);   // curves of section 4.2
void measure_stories(Measuring& m);  // curves of the language models
void measure_samples(Measuring& m);  // what they write
void measure_depth(Measuring& m);
void measure_trust(Measuring& m);          // fidelity of the forms
void measure_spectra(Measuring& m);        // appendix B: shares of the strongest eigenvectors
void measure_similarity(Measuring& m);     // figure 2B
void measure_features(Measuring& m);       // figure 2A
void measure_class_spectra(Measuring& m);  // appendix B: eigenvalues of single classes
void measure_explanation(Measuring& m);
void measure_timing(Measuring& m);
void measure_formulas(Measuring& m);
void measure_matches(Measuring& m);   // figure 2A: pictures and classes
void measure_choices(Measuring& m);   // SQS with other options
void measure_language(Measuring& m);  // readability of the language models

}  // namespace glint
