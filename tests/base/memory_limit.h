// For tests of what happens without memory.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace glint {

// From now on this process gets only so many bytes of address space more. For processes that end soon.
inline void limit_memory(size_t more) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const size_t bytes = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit = {bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

}  // namespace glint
