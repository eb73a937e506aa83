// Any text as a recipe: an Error with its line, or lines whose keys are all different. Never more memory than
// promised.
#include <cstdint>
#include <cstdlib>
#include <set>

#include "glint/base/error.h"
#include "glint/io/flat_toml.h"
#include "memory_promise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    std::vector<glint::TomlLine> lines;
    {
      const glint::MemoryPromise promise(size);
      lines = glint::parse_flat_toml(text, "fuzz");
    }
    std::set<std::string> keys;
    size_t last = 0;
    for (const glint::TomlLine& l : lines) {
      if (!keys.insert(l.key).second || l.line <= last) std::abort();
      last = l.line;
    }
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file) std::abort();
    if (e.parts().where.find("fuzz, line ") != 0 || e.parts().expected.empty()) std::abort();
  }
  return 0;
}
