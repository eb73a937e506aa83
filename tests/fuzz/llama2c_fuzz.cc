// Any bytes read as a llama2.c file: an Error, or tensors that lie in the file, each byte in one at most.
#include <cstdint>
#include <cstdlib>

#include "glint/base/error.h"
#include "glint/io/weight_contents.h"
#include "memory_promise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const glint::MemoryPromise promise(size);
  const auto file = std::as_bytes(std::span(data, size));
  const bool looks_right = glint::is_llama2c(file);
  try {
    const glint::WeightContents contents = glint::parse_llama2c(file, "fuzz");
    if (!looks_right) std::abort();
    size_t covered = 0;
    for (const glint::StoredTensor& t : contents.tensors) {
      covered += t.bytes.size() + t.scales.size();
      std::vector<float> last(t.cols());
      glint::widen(t, t.values() - t.cols(), last);
    }
    if (covered > size) std::abort();
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file) std::abort();
  }
  return 0;
}
