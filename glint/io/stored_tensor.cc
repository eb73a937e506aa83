#include "glint/io/stored_tensor.h"

#include <array>
#include <cassert>

namespace glint {
namespace {

struct StoredRow {
  StoredType type;
  const char* name;
  uint16_t values, bytes;  // of a block
};

constexpr std::array<StoredRow, kStoredTypes> kStoredRows = {{{StoredType::f32, "F32", 1, 4},
                                                              {StoredType::f16, "F16", 1, 2},
                                                              {StoredType::bf16, "BF16", 1, 2},
                                                              {StoredType::q8_0, "Q8_0", 32, 34},
                                                              {StoredType::q4_0, "Q4_0", 32, 18},
                                                              {StoredType::q4_1, "Q4_1", 32, 20},
                                                              {StoredType::q5_0, "Q5_0", 32, 22},
                                                              {StoredType::q5_1, "Q5_1", 32, 24},
                                                              {StoredType::q2_k, "Q2_K", 256, 84},
                                                              {StoredType::q3_k, "Q3_K", 256, 110},
                                                              {StoredType::q4_k, "Q4_K", 256, 144},
                                                              {StoredType::q5_k, "Q5_K", 256, 176},
                                                              {StoredType::q6_k, "Q6_K", 256, 210},
                                                              {StoredType::grouped_i8, "I8", 1, 1}}};

constexpr bool stored_rows_in_order() {
  for (size_t i = 0; i < kStoredRows.size(); i++)
    if (static_cast<size_t>(kStoredRows[i].type) != i) return false;
  return true;
}
static_assert(stored_rows_in_order(), "the table is indexed by the enumeration");

const StoredRow& row_of(StoredType type) { return kStoredRows[static_cast<size_t>(type)]; }

}  // namespace

const char* name(StoredType type) { return row_of(type).name; }
size_t block_values(StoredType type) { return row_of(type).values; }
size_t block_bytes(StoredType type) { return row_of(type).bytes; }
double bits_per_value(StoredType type) { return 8.0 * row_of(type).bytes / row_of(type).values; }

bool stored_bytes(StoredType type, uint64_t values, uint64_t& bytes) {
  const StoredRow& row = row_of(type);
  return values % row.values == 0 &&
         !__builtin_mul_overflow(values / row.values, uint64_t{row.bytes}, &bytes);
}

size_t StoredTensor::values() const {
  size_t product = 1;
  for (const size_t n : shape) product *= n;
  return product;
}
size_t StoredTensor::cols() const { return shape.empty() ? 1 : shape.back(); }
size_t StoredTensor::rows() const {
  size_t product = 1;
  for (size_t i = 0; i + 1 < shape.size(); i++) product *= shape[i];
  return product;
}
size_t StoredTensor::row_bytes() const {
  assert(cols() % block_values(type) == 0);
  return cols() / block_values(type) * block_bytes(type);
}

}  // namespace glint
