// Trains the recipe `quick` and reads the weights: which eigenvectors speak for a class, and how far to trust
// them.
//   read_spectrum DIR
#include <cstdio>

#include "glint/glint.h"

int main(int argc, char** argv) try {
  const std::string run = argc > 1 ? argv[1] : "runs/quick";
  const glint::Engine engine;
  glint::train(engine, {.recipe = "quick", .changes = {{"epochs", "2"}}, .out = run});
  const glint::ReadResult result = glint::read(
      engine, {.source = glint::RunSource{.run = run}, .along = glint::Along{.directions = {"3"}}, .figures = false});
  for (const glint::ReadForm& form : result.forms)
    std::printf("%-10s  R2 %.3f, same decision as the model on %.1f %%\n", glint::name(form.form).c_str(),
                form.fidelity.r2, 100 * form.fidelity.agreement);
  for (const glint::ReadDirection& d : result.directions)
    std::printf("class %s: eigenvalues %+.3f, %+.3f ... %+.3f\n", d.name.c_str(), d.form.spectrum.values[0],
                d.form.spectrum.values[1], d.form.spectrum.values.back());
  std::printf("all of it: %zu bytes of JSON\n", glint::to_json(result).dump().size());
} catch (const glint::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
