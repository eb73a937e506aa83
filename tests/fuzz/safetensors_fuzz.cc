// Any bytes: an Error or a view whose tensors all lie in the file and can be read as floats.
#include <cstdint>
#include <cstdlib>

#include "glint/base/error.h"
#include "glint/io/safetensors.h"
#include "memory_promise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const glint::MemoryPromise promise(size);
  try {
    const auto file = std::as_bytes(std::span(data, size));
    const glint::SafetensorsView view = glint::parse_safetensors(file, "fuzz");
    size_t covered = 0;
    for (const glint::TensorInfo& t : view.tensors()) {
      if (view.find(t.name) != &t) std::abort();
      covered += t.bytes.size();
      try {
        const glint::FloatMatrix m = view.matrix(t.name, t.shape);
        volatile float sink = m.view.empty() ? 0.0f : m.view(m.view.rows() - 1, m.view.cols() - 1);
        (void)sink;
      } catch (const glint::Error&) {  // integers are not floats
      }
    }
    if (covered > size) std::abort();
    for (const auto& [key, value] : view.metadata())
      if (!view.find_metadata(key)) std::abort();
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file) std::abort();
  }
  return 0;
}
