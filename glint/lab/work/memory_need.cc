#include "glint/lab/work/memory_need.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/text.h"

namespace glint {
namespace {

constexpr uint64_t kOfOne = 4;  // weights, gradients, two moments

std::string gigabytes(uint64_t bytes) { return fixed_text(static_cast<double>(bytes) / 1e9, 1) + " GB"; }

}  // namespace

uint64_t training_bytes(const TrainOptions& options, size_t inputs, size_t classes) {
  return kOfOne * sizeof(float) * classifier_params(classifier_config(options, inputs, classes)).table.floats();
}

uint64_t training_bytes(const TrainOptions& options, size_t vocab) {
  return (kOfOne + options.micro_batch) * sizeof(float) *
         transformer_params(transformer_config(options, vocab)).table.floats();
}

uint64_t memory_of_process() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  uint64_t there = pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : UINT64_MAX;
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      there = std::min<uint64_t>(there, limit.rlim_cur);
  }
  return there;
}

void check_memory(uint64_t needed, uint64_t there) {
  if (needed <= there) return;
  throw Error({.what = "a model of this size needs at least " + gigabytes(needed) +
                       " for its training, and there are " + gigabytes(there),
               .where = "`d_model`, `d_hidden`, `layers`",
               .expected = "a model that fits into memory",
               .hint = "smaller numbers in the recipe, or options that override it"});
}

}  // namespace glint
