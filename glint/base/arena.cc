#include "glint/base/arena.h"

#include <sys/mman.h>

#include <utility>

namespace glint {

Arena::Arena(size_t bytes) {
  if (bytes == 0) return;
  constexpr size_t kPage = size_t{2} << 20;  // a huge page
  capacity_ = (checked_bytes(bytes, 1, 1) + kPage - 1) / kPage * kPage;
  void* p = mmap(nullptr, capacity_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw_no_memory(bytes);
  madvise(p, capacity_, MADV_HUGEPAGE);  // a hint: fewer TLB misses where the kernel agrees
  data_ = static_cast<char*>(p);
}

Arena::~Arena() {
  if (data_) munmap(data_, capacity_);
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  std::swap(used_, other.used_);
  return *this;
}

void* Arena::take(size_t bytes) {
  const size_t rounded = bytes_for<char>(bytes);
  if (rounded > capacity_ - used_)
    throw Error({.what = "arena of " + std::to_string(capacity_) + " bytes is full: " + std::to_string(used_) +
                         " used, " + std::to_string(bytes) + " wanted"});
  void* p = data_ + used_;
  used_ += rounded;
  return p;
}

}  // namespace glint
