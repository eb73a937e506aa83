// The verbs of the program. One line here and one file glint/cli/NAME.cc with `void add_NAME(Program&)`.
#pragma once

#include "glint/cli/program.h"

#define GLINT_VERBS(X) \
  X(data)              \
  X(tokenize)          \
  X(model)             \
  X(import)            \
  X(train)             \
  X(convert)           \
  X(sweep)             \
  X(runs)              \
  X(eval)              \
  X(generate)          \
  X(spectrum)          \
  X(neurons)           \
  X(explain)           \
  X(compare)           \
  X(ablate)            \
  X(readability)       \
  X(attack)            \
  X(page)              \
  X(export)            \
  X(reproduce)         \
  X(gates)             \
  X(bench)             \
  X(completion)

namespace glint::cli {

#define GLINT_DECLARE_VERB(name) void add_##name(Program& program);
GLINT_VERBS(GLINT_DECLARE_VERB)
#undef GLINT_DECLARE_VERB

}  // namespace glint::cli
