#include "glint/base/memory_room.h"

#include <sys/mman.h>

#include <vector>

namespace glint {

bool room_for(size_t bytes, size_t times) {
  std::vector<void*> blocks;
  blocks.reserve(times);
  for (size_t i = 0; i < times; i++) {
    // Writable and private, as a library would ask: so that every kind of limit counts it.
    void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    blocks.push_back(block);
  }
  for (void* block : blocks) ::munmap(block, bytes);
  return blocks.size() == times;
}

}  // namespace glint
