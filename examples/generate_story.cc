// Trains a small language model on the built-in tales and lets it write a story.
//   generate_story DIR
#include <cstdio>

#include "glint/glint.h"

int main(int argc, char** argv) try {
  const std::string directory = argc > 1 ? argv[1] : "runs/tales";
  const glint::Engine engine;
  glint::train(engine, {.recipe = "tales",
                        .changes = {{"epochs", "1"}, {"layers", "1"}, {"d-model", "32"}, {"context", "64"}},
                        .out = directory});
  const auto run = glint::open_language_run(engine, {.run = directory});
  glint::GenerateRequest request;
  request.prompt = "once upon a time";
  request.sampling.seed = 1;
  request.tokens = 40;
  const glint::GenerateResult result = glint::generate_stories(engine, *run, request);
  std::printf("%s\n", result.stories[0].text.c_str());
} catch (const glint::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
