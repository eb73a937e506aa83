#include "arrays.h"

#include <cstdlib>

#include "glint/base/error.h"

namespace glint::python {

std::vector<size_t> shape_of(const AnyArray& array) {
  std::vector<size_t> shape(array.ndim());
  for (size_t i = 0; i < array.ndim(); i++) shape[i] = array.shape(i);
  return shape;
}

std::string shape_text(const AnyArray& array) {
  std::string text = "(";
  for (size_t i = 0; i < array.ndim(); i++) text += (i ? ", " : "") + std::to_string(array.shape(i));
  return text + (array.ndim() == 1 ? ",)" : ")");
}

Rows rows_of(const AnyArray& array) {
  // Stand-ins for tensors, and tensors whose memory was given back, have no address or only their offset: in the
  // first page, where no memory lies.
  constexpr uintptr_t kFirstPage = 4096;
  if (array.size() > 0 && reinterpret_cast<uintptr_t>(array.data()) < kFirstPage)
    throw Error({.code = ErrorCode::usage,
                 .what = "an array of shape " + shape_text(array) + " without memory behind it",
                 .where = "",
                 .expected = "an array of numbers"});
  const size_t axes = array.ndim();
  if (axes == 0) return {1, 1, 1, true};
  Rows rows{1, array.shape(axes - 1), array.shape(axes - 1), true};
  for (size_t i = 0; i + 1 < axes; i++) rows.rows *= array.shape(i);
  if (rows.rows == 0 || rows.cols == 0) return rows;
  if (rows.cols > 1 && array.stride(axes - 1) != 1) return {};
  // Axes of one element have a stride that means nothing.
  int64_t next = 0;  // the stride that the next axis to the left must have; 0: any
  for (size_t i = axes - 1; i-- > 0;) {
    if (array.shape(i) == 1) continue;
    const int64_t stride = array.stride(i);
    if (next == 0) {
      if (stride < static_cast<int64_t>(rows.cols)) return {};
      rows.stride = static_cast<size_t>(stride);
    } else if (stride != next) {
      return {};
    }
    next = stride * static_cast<int64_t>(array.shape(i));
  }
  return rows;
}

void* array_memory(size_t elements, size_t element) {
  const size_t bytes = checked_bytes(1, elements, element);
  void* memory =
      std::aligned_alloc(kAlignment, std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
  if (!memory) throw_no_memory(bytes);
  return memory;
}

void release_memory(void* memory) noexcept { std::free(memory); }

namespace {
std::pair<uintptr_t, uintptr_t> bytes_of(const AnyArray& array) {
  const auto base = reinterpret_cast<uintptr_t>(array.data());
  int64_t low = 0, high = 0;  // in elements
  for (size_t i = 0; i < array.ndim(); i++) {
    if (array.shape(i) == 0) return {base, base};
    const int64_t reach = array.stride(i) * static_cast<int64_t>(array.shape(i) - 1);
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<int64_t>(array.itemsize());
  return {base + static_cast<uintptr_t>(low * size), base + static_cast<uintptr_t>((high + 1) * size)};
}
}  // namespace

bool overlap(const AnyArray& a, const AnyArray& b) {
  const auto [a_first, a_end] = bytes_of(a);
  const auto [b_first, b_end] = bytes_of(b);
  return a_first < b_end && b_first < a_end;
}

}  // namespace glint::python
