// All of glint in one header: train, read, explain, compare, generate, and the parts that they are made of.
//
//   const glint::Engine engine;
//   glint::train(engine, {.recipe = "quick", .out = "runs/first"});
//   const glint::ReadResult spectrum = glint::read(engine, {.run = "runs/first", .unit = "3"});
//
// examples/ has whole programs.
#pragma once

#include "glint/base/error.h"
#include "glint/base/version.h"
#include "glint/data/arrays.h"
#include "glint/data/dataset.h"
#include "glint/data/text_data.h"
#include "glint/kernels/gates.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/models/generate.h"
#include "glint/lab/models/logits.h"
#include "glint/lab/models/run.h"
#include "glint/lab/publish/export.h"
#include "glint/lab/publish/page.h"
#include "glint/lab/read/explain.h"
#include "glint/lab/read/explain_token.h"
#include "glint/lab/read/layer.h"
#include "glint/lab/read/read.h"
#include "glint/lab/study/ablate.h"
#include "glint/lab/study/attack.h"
#include "glint/lab/study/compare.h"
#include "glint/lab/study/readability.h"
#include "glint/lab/study/sweep.h"
#include "glint/lab/work/data_sets.h"
#include "glint/lab/work/engine.h"
#include "glint/lab/work/runs.h"
#include "glint/lab/work/tokenize.h"
#include "glint/lab/work/train.h"
#include "glint/spectra/glu_model.h"
#include "glint/train/image_task.h"
#include "glint/train/text_task.h"
#include "glint/train/trainer.h"
