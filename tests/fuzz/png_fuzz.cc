// Any bytes: an Error or a picture. The checksums of the chunks are made right first, so that the fuzzer gets
// past them.
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "glint/base/error.h"
#include "glint/io/png.h"
#include "memory_promise.h"

static std::string with_right_checksums(const uint8_t* data, size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(file[i])); };
  for (size_t at = 8; at + 12 <= size;) {
    const size_t n = byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
    if (n > size - at - 12) break;
    const auto sum =
        static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const unsigned char*>(file.data()) + at + 4, n + 4));
    for (size_t i = 0; i < 4; i++) file[at + 8 + n + i] = static_cast<char>(sum >> (24 - 8 * i));
    at += n + 12;
  }
  return file;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string file = with_right_checksums(data, size);
  const glint::MemoryPromise promise(size);
  try {
    // Small pictures only: time is for new paths, not for many pixels.
    const auto m = glint::decode_png(glint::as_bytes(file), "fuzz", 128, {.side = 1000, .pixels = 200'000});
    if (m.size() == 0 || m.size() > 200'000) std::abort();
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file) std::abort();
  }
  return 0;
}
