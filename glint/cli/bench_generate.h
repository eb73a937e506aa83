// glint bench generate: tokens a second of the paper's language model with a KV cache.
#pragma once

#include "glint/cli/verb.h"

namespace glint::cli {

struct GenerateBench {
  size_t repeats = 0;  // 0: 5
  std::string gate = "sqs";
  std::string format = "text";
};

// Random weights; 255 tokens for 1 and for 32 stories from one token on.
void bench_generate(Context& context, const GenerateBench& options);

}  // namespace glint::cli
