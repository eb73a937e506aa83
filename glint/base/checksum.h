// Checksum of a checkpoint's bytes: the CRC-32 of zlib, PNG and gzip.
// Chosen over a hash of our own because it finds every burst error up to 32 bits, because anyone can check a
// file with Python's zlib.crc32, and because zlib computes it at 2.5 GB/s a core, faster than a disk
// delivers. It guards against accidents, not against malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace glint {

// `before` is the checksum of the bytes that came before, so that a stream can be summed piece by piece.
uint32_t checksum(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace glint
