#include "glint/base/checksum.h"

#include <zlib.h>

namespace glint {

uint32_t checksum(std::span<const std::byte> bytes, uint32_t before) {
  if (bytes.empty()) return before;  // zlib takes a null pointer as "start anew"
  return static_cast<uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace glint
