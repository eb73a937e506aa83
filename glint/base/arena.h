// One block of memory handed out in aligned pieces and released all at once: what a training step computes
// in. Sized before the first step, so that a step allocates nothing.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "glint/base/matrix.h"

namespace glint {

class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t bytes);  // zeroed; asks for huge pages
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  // Bytes that alloc<T>(count) takes, so that callers can add up what they need.
  template <class T>
  static constexpr size_t bytes_for(size_t count) {
    return (checked_bytes(count, 1, sizeof(T)) + kAlignment - 1) / kAlignment * kAlignment;
  }
  template <class T>
  std::span<T> alloc(size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {static_cast<T*>(take(checked_bytes(count, 1, sizeof(T)))), count};
  }
  template <class T>
  MatrixView<T> matrix(size_t rows, size_t cols) {
    checked_bytes(rows, cols, sizeof(T));
    return {alloc<T>(rows * cols).data(), rows, cols};
  }
  // Rows of floats padded_stride apart.
  MatrixView<float> padded(size_t rows, size_t cols) {
    const size_t stride = padded_stride(cols);
    return {alloc<float>(checked_bytes(rows, stride, 1)).data(), rows, cols, stride};
  }
  static size_t bytes_for_padded(size_t rows, size_t cols) { return bytes_for<float>(rows * padded_stride(cols)); }
  void reset() { used_ = 0; }
  size_t used() const { return used_; }
  size_t capacity() const { return capacity_; }

 private:
  void* take(size_t bytes);  // throws when the arena was sized too small
  char* data_ = nullptr;
  size_t capacity_ = 0, used_ = 0;
};

}  // namespace glint
