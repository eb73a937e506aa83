// Any bytes read as tokenizer.bin of llama2.c: an Error, or a tokenizer whose ids are below its size.
#include <cstdint>

#include "glint/base/error.h"
#include "memory_promise.h"
#include "tokenizer_use.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const glint::MemoryPromise promise(size);
  try {
    glint::use_tokenizer(*glint::parse_tokenizer_bin({reinterpret_cast<const char*>(data), size}, "fuzz"));
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file || e.parts().where.find("fuzz") == std::string::npos) std::abort();
  }
  return 0;
}
