// Stops the fuzzer when a reader holds more than twice its input + 64 MB at any moment. Counts with the hooks
// of the address sanitizer, and only there; single-threaded, as the readers are.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define GLINT_COUNTS_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GLINT_COUNTS_MEMORY 1
#endif
#endif

#ifdef GLINT_COUNTS_MEMORY
// Declared here because g++ comes without the header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void*);
#endif

namespace glint {

#ifndef GLINT_COUNTS_MEMORY
class MemoryPromise {
 public:
  explicit MemoryPromise(size_t) {}
  ~MemoryPromise() {}  // so that no compiler calls it unused
};
#else
class MemoryPromise {
 public:
  explicit MemoryPromise(size_t input_bytes) {
    static const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    if (!installed) std::abort();
    held_ = 0;
    limit_ = 2 * input_bytes + (size_t{64} << 20);
    on_ = true;
  }
  ~MemoryPromise() { on_ = false; }

 private:
  static void on_malloc(const volatile void*, size_t bytes) {
    if (!on_) return;
    held_ += static_cast<std::ptrdiff_t>(bytes);
    if (held_ > static_cast<std::ptrdiff_t>(limit_)) {
      on_ = false;
      std::fprintf(stderr, "broken promise: %td bytes held, at most %zu allowed\n", held_, limit_);
      std::abort();
    }
  }
  static void on_free(const volatile void* p) {
    if (on_ && p) held_ -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(const_cast<void*>(p)));
  }
  static inline std::ptrdiff_t held_ = 0;
  static inline size_t limit_ = 0;
  static inline bool on_ = false;
};
#endif

}  // namespace glint
