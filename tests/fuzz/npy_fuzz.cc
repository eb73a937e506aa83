// Any bytes: an Error or an array that the writer's header describes again.
#include <cstdint>
#include <cstdlib>

#include "glint/base/error.h"
#include "glint/io/npy.h"
#include "memory_promise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const glint::MemoryPromise promise(size);
  try {
    const glint::NpyView v = glint::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
    std::string again = glint::npy_header(v.dtype, v.shape);
    if (!v.bytes.empty()) again.append(reinterpret_cast<const char*>(v.bytes.data()), v.bytes.size());
    const glint::NpyView w = glint::parse_npy(glint::as_bytes(again), "again");
    if (w.dtype != v.dtype || w.shape != v.shape || w.bytes.size() != v.bytes.size()) std::abort();
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file) std::abort();
  }
  return 0;
}
