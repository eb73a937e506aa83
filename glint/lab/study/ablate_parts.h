// What the parts of ablate.cc share; not for callers.
#pragma once

#include "glint/lab/study/ablate.h"
#include "glint/lab/work/result_files.h"

namespace glint {

// All weights of the run's model, with the directions `basis` of the input of a layer folded into them.
Matrix<float> ablated_weights(const Run& run, size_t layer, ConstMatrixView<double> basis, double keep);

// Writes the changed model as a finished run with one evaluation, which is made here.
void save_ablated_run(const Engine& engine, Run& run, const Ablation& result, Matrix<float> weights,
                      ExportFolder& folder);

}  // namespace glint
