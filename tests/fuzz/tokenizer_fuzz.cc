// Any bytes read as a SentencePiece model: an Error, or a tokenizer whose ids are below its size.
#include <cstdint>
#include <cstdlib>

#include "glint/base/error.h"
#include "glint/tokens/tokenizer.h"
#include "memory_promise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const glint::MemoryPromise promise(size);
  try {
    const glint::Tokenizer t = glint::Tokenizer::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::vector<glint::TokenId> ids =
        t.encode("Once upon a time \xC3\x9C\xE4\xBD\xA0\xEF\xAC\x81 \xF0\x9F\x98\x80 aaaa");
    for (const glint::TokenId id : ids)
      if (id >= t.size()) std::abort();
    t.decode(ids);
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file || e.parts().where.find("fuzz") == std::string::npos) std::abort();
  }
  return 0;
}
