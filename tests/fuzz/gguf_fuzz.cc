// Any bytes read as a GGUF file: an Error, or tensors that lie in the file and can be widened; a tokenizer
// inside it encodes and decodes.
#include <cstdint>
#include <cstdlib>

#include "glint/base/error.h"
#include "glint/io/weight_contents.h"
#include "glint/tokens/tokenizer_model.h"
#include "memory_promise.h"
#include "tokenizer_use.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const glint::MemoryPromise promise(size);
  try {
    const auto file = std::as_bytes(std::span(data, size));
    const auto contents = std::make_shared<glint::WeightContents>(glint::parse_gguf(file, "fuzz"));
    size_t covered = 0;
    float some[64];
    for (const glint::StoredTensor& t : contents->tensors) {
      if (t.bytes.data() < file.data() || t.bytes.data() + t.bytes.size() > file.data() + size) std::abort();
      covered += t.bytes.size();
      const size_t count = std::min<size_t>(64, t.values());
      glint::widen(t, t.values() - count, {some, count});
    }
    if (covered > size) std::abort();
    for (const auto& [key, array] : contents->arrays)
      for (size_t i = 0; i < array.size() && i < 1000; i++)
        if (array.kind() == glint::StoredArray::Kind::text && array.text(i).size() > size) std::abort();
    contents->metadata.dump();
    if (const auto model = glint::gguf_tokenizer(glint::WeightFile(contents))) glint::use_tokenizer(*model);
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file) std::abort();
  }
  return 0;
}
