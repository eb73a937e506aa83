// A model with the shape of another but nothing that it learned: every matrix redrawn, its numbers normal and
// its norm the same. Norms and biases stay. A control: what a reading finds there is not what was learned.
#pragma once

#include "glint/base/threads.h"
#include "glint/model/family_model.h"

namespace glint {

// In bf16. The layers share the memory of one: each is drawn when it is asked for (FamilyModel::layer). Keeps
// the pool. The same bytes at any number of threads.
FamilyModel redrawn(const FamilyModel& model, ThreadPool& pool, uint64_t seed);

}  // namespace glint
