// Any text: what this parser takes, nlohmann-json takes too and reads the same.
#include <cstdint>
#include <cstdlib>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "memory_promise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    glint::Json ours;
    {
      const glint::MemoryPromise promise(size);
      ours = glint::parse_json(text, "fuzz");
    }
    if (ours != glint::Json::parse(text)) std::abort();
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file) std::abort();
    // Nothing else is refused than what nlohmann-json refuses, but for our own four rules and two of its
    // habits: it takes a zero byte for the end of the text and skips a byte order mark.
    const bool habit = text.find('\0') != text.npos || text.starts_with("\xef\xbb\xbf");
    const std::string& what = e.parts().what;
    if (!habit && glint::Json::accept(text) && what.find("duplicate key") != 0 && what.find("JSON is nested") != 0 &&
        what.find("JSON needs too much") != 0 && what.find("outside the range") == std::string::npos)
      std::abort();
  }
  return 0;
}
