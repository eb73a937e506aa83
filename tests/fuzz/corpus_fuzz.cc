// Any bytes read as a tokenized corpus: an Error, or stories that a writer would have written so.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "glint/base/error.h"
#include "glint/data/corpus.h"
#include "memory_promise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  const glint::MemoryPromise promise(size);
  // Without the checksum, so that the fuzzer gets past it.
  for (const glint::CorpusCheck check : {glint::CorpusCheck::content, glint::CorpusCheck::full}) try {
      const glint::Corpus corpus = glint::Corpus::parse({file.begin(), file.end()}, "fuzz", check);
      std::vector<std::vector<glint::TokenId>> stories;
      for (size_t i = 0; i < corpus.stories(); i++) {
        const std::vector<glint::TokenId> story = corpus.story(i).ids();
        for (const glint::TokenId id : story)
          if (id >= corpus.vocab()) std::abort();
        if (size < 4096) stories.emplace_back(story.begin(), story.end());
      }
      if (size >= 4096) continue;
      const std::vector<std::byte> again = glint::corpus_bytes(stories, corpus.vocab(), corpus.tokenizer_hash());
      constexpr size_t kChecksum = 40;  // it and the end mark are the last bytes
      if (again.size() != size || std::memcmp(again.data(), data, size - kChecksum) != 0) std::abort();
    } catch (const glint::Error& e) {
      if (e.code() != glint::ErrorCode::bad_file || e.parts().where.find("fuzz") == std::string::npos) std::abort();
    }
  return 0;
}
