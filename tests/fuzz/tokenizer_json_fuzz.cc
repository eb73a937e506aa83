// Any bytes read as tokenizer.json: an Error, or a tokenizer whose ids are below its size.
#include <cstdint>

#include "glint/base/error.h"
#include "memory_promise.h"
#include "tokenizer_use.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const glint::MemoryPromise promise(size);
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    glint::use_tokenizer(*glint::parse_tokenizer_json(text, "fuzz", R"({"eos_token":"</s>"})", "fuzz"));
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file || e.parts().where.find("fuzz") == std::string::npos) std::abort();
  }
  return 0;
}
