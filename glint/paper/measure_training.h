// Curves of finished runs, for those who measure.
#pragma once

#include "glint/paper/measuring.h"

namespace glint {

// What the metrics of a finished run say. Error (bad_file) when they are not complete.
RunCurve curve_of(const std::string& directory, const TrainOptions& options);

}  // namespace glint
