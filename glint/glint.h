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
#include "glint/lab/ablate.h"
#include "glint/lab/attack.h"
#include "glint/lab/compare.h"
#include "glint/lab/data.h"
#include "glint/lab/engine.h"
#include "glint/lab/evaluate.h"
#include "glint/lab/explain.h"
#include "glint/lab/explain_token.h"
#include "glint/lab/export.h"
#include "glint/lab/generate.h"
#include "glint/lab/layer.h"
#include "glint/lab/logits.h"
#include "glint/lab/page.h"
#include "glint/lab/read.h"
#include "glint/lab/readability.h"
#include "glint/lab/run.h"
#include "glint/lab/runs.h"
#include "glint/lab/sweep.h"
#include "glint/lab/tokenize.h"
#include "glint/lab/train.h"
#include "glint/spectra/glu_model.h"
#include "glint/train/image_task.h"
#include "glint/train/text_task.h"
#include "glint/train/trainer.h"
