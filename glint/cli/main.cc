// The program `glint`: see program.h for how it runs and verbs.h for what it can do.
#include "glint/cli/verbs.h"

int main(int argc, char** argv) {
  glint::cli::Program program;
#define GLINT_ADD_VERB(name) glint::cli::add_##name(program);
  GLINT_VERBS(GLINT_ADD_VERB)
#undef GLINT_ADD_VERB
  return program.run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
