// Ranks that are threads of this process, with queues as links: for tests, and for measuring what a slow
// network would do.
#pragma once

#include <memory>
#include <vector>

#include "glint/train/transport.h"

namespace glint {

// What a message takes: it leaves when those before it from the same rank have left, at so many seconds a
// byte, and arrives `latency` later. Zeros: at once.
struct LinkTimes {
  double latency = 0, seconds_per_byte = 0;
};

// One for each rank, to be used by a thread of its own.
std::vector<std::unique_ptr<Transport>> local_ranks(size_t size, LinkTimes times = {});

}  // namespace glint
