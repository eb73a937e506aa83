// Models of section 4.1 opened for measuring.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glint/lab/models/image_run.h"
#include "glint/paper/class_match.h"
#include "glint/paper/measuring.h"

namespace glint {

// One form of a model, measured on the test images.
struct MeasuredForm {
  Fidelity fidelity;
  TruncationCurve cut;
};

// What one model says about its weights: computed once and shared by the parts.
struct ModelReading {
  std::map<Form, MeasuredForm> forms;       // always that of the weights
  std::vector<std::vector<double>> energy;  // [class][k - 1], weights form
  ClassLikeness likeness;                   // of its strongest eigenvectors, weights form
  Controls controls;
};

// The strongest eigenvector for every class as a picture, [classes, pixels].
Matrix<double> top_pictures(const ImageReading& reading, std::span<const UnitForm> units,
                            std::span<const GateTerms> lines);

std::unique_ptr<ImageRun> open_run_of(const Measuring& m, const PlannedRun& run, const std::string& data);
// The first finished SQS run, for pictures. Null when there is none.
std::unique_ptr<ImageRun> open_first_sqs(const Measuring& m, const std::string& data);

}  // namespace glint
