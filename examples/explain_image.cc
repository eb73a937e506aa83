// Why a model decides as it does on one test image.
//   explain_image RUN INDEX
#include <cstdio>
#include <cstdlib>

#include "glint/glint.h"

int main(int argc, char** argv) try {
  const glint::Engine engine;
  glint::ExplainRequest request;
  request.source.run = argc > 1 ? argv[1] : "runs/quick";
  request.index = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  request.figures = false;
  const glint::ExplainResult result = glint::explain(engine, request);
  std::printf("%s: the model %s\n", result.input.c_str(), glint::verdict_text(result).c_str());
  for (const glint::ExplainedClass& c : result.shown) {
    std::printf("class %s, logit %+.2f\n", c.name.c_str(), c.logit);
    for (const glint::ExplainedTerm& t : c.forward)
      std::printf("  for      eigenvector %zu: %+.3f\n", t.rank, t.contribution);
    for (const glint::ExplainedTerm& t : c.against)
      std::printf("  against  eigenvector %zu: %+.3f\n", t.rank, t.contribution);
  }
  std::printf("%s\n", glint::trust_text(result).c_str());
} catch (const glint::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
