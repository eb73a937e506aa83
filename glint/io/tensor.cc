#include "glint/io/tensor.h"

#include <array>

namespace glint {
namespace {

struct DtypeRow {
  Dtype dtype;
  const char* name;
  size_t size;
};

constexpr std::array<DtypeRow, 15> kDtypes = {{{Dtype::f64, "F64", 8},
                                               {Dtype::f32, "F32", 4},
                                               {Dtype::f16, "F16", 2},
                                               {Dtype::bf16, "BF16", 2},
                                               {Dtype::i64, "I64", 8},
                                               {Dtype::i32, "I32", 4},
                                               {Dtype::i16, "I16", 2},
                                               {Dtype::i8, "I8", 1},
                                               {Dtype::u64, "U64", 8},
                                               {Dtype::u32, "U32", 4},
                                               {Dtype::u16, "U16", 2},
                                               {Dtype::u8, "U8", 1},
                                               {Dtype::boolean, "BOOL", 1},
                                               {Dtype::f8_e4m3, "F8_E4M3", 1},
                                               {Dtype::f8_e5m2, "F8_E5M2", 1}}};

// The table is indexed by the enumeration.
constexpr bool in_order() {
  for (size_t i = 0; i < kDtypes.size(); i++)
    if (static_cast<size_t>(kDtypes[i].dtype) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

size_t dtype_size(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].size; }
const char* dtype_name(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].name; }

const Dtype* find_dtype(std::string_view name) {
  for (const DtypeRow& row : kDtypes)
    if (name == row.name) return &row.dtype;
  return nullptr;
}

bool dense_bytes(std::span<const size_t> shape, Dtype dtype, size_t& bytes) {
  bytes = dtype_size(dtype);
  for (const size_t n : shape)
    if (__builtin_mul_overflow(bytes, n, &bytes)) return false;
  return true;
}

std::string show_shape(std::span<const size_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); i++) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace glint
