// Any text read as model.safetensors.index.json: an Error, or names of files in the same folder.
#include <cstdint>
#include <cstdlib>

#include "glint/base/error.h"
#include "glint/io/weight_contents.h"
#include "memory_promise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const glint::MemoryPromise promise(size);
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto& [tensor, file] : glint::parse_shard_index(text, "fuzz"))
      if (file.find_first_of(std::string_view("/\\\0", 3)) != file.npos || !file.ends_with(".safetensors"))
        std::abort();
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file) std::abort();
  }
  return 0;
}
