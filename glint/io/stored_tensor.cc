#include "glint/io/stored_tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "glint/base/error.h"
#include "glint/base/text.h"

namespace glint {
namespace {

struct StoredRow {
  StoredType type;
  const char* name;
  uint16_t values, bytes;  // of a block
  uint16_t scale, scales;  // where its half-precision scales begin, and how many there are
};

constexpr std::array<StoredRow, kStoredTypes> kStoredRows = {{{StoredType::f32, "F32", 1, 4, 0, 0},
                                                              {StoredType::f16, "F16", 1, 2, 0, 1},
                                                              {StoredType::bf16, "BF16", 1, 2, 0, 0},
                                                              {StoredType::q8_0, "Q8_0", 32, 34, 0, 1},
                                                              {StoredType::q4_0, "Q4_0", 32, 18, 0, 1},
                                                              {StoredType::q4_1, "Q4_1", 32, 20, 0, 2},
                                                              {StoredType::q5_0, "Q5_0", 32, 22, 0, 1},
                                                              {StoredType::q5_1, "Q5_1", 32, 24, 0, 2},
                                                              {StoredType::q2_k, "Q2_K", 256, 84, 80, 2},
                                                              {StoredType::q3_k, "Q3_K", 256, 110, 108, 1},
                                                              {StoredType::q4_k, "Q4_K", 256, 144, 0, 2},
                                                              {StoredType::q5_k, "Q5_K", 256, 176, 0, 2},
                                                              {StoredType::q6_k, "Q6_K", 256, 210, 208, 1},
                                                              {StoredType::grouped_i8, "I8", 1, 1, 0, 0}}};

constexpr bool stored_rows_in_order() {
  for (size_t i = 0; i < kStoredRows.size(); i++)
    if (static_cast<size_t>(kStoredRows[i].type) != i) return false;
  return true;
}
static_assert(stored_rows_in_order(), "the table is indexed by the enumeration");

const StoredRow& row_of(StoredType type) { return kStoredRows[static_cast<size_t>(type)]; }

// Numbers as bits, at any alignment: those of infinity and of NaN are larger than those of any number.
template <class Bits>
bool all_below(std::span<const std::byte> bytes, size_t step, Bits sign, Bits most) {
  bool good = true;
  for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += step) {
    Bits v;
    std::memcpy(&v, bytes.data() + at, sizeof v);
    good &= static_cast<Bits>(v & ~sign) <= most;
  }
  return good;
}

bool sound_floats(std::span<const std::byte> bytes) {
  return all_below<uint32_t>(bytes, 4, 0x80000000u, std::bit_cast<uint32_t>(kLargestWeight));
}

}  // namespace

const char* name(StoredType type) { return row_of(type).name; }
size_t block_values(StoredType type) { return row_of(type).values; }
size_t block_bytes(StoredType type) { return row_of(type).bytes; }

bool stored_bytes(StoredType type, uint64_t values, uint64_t& bytes) {
  const StoredRow& row = row_of(type);
  return values % row.values == 0 && !__builtin_mul_overflow(values / row.values, uint64_t{row.bytes}, &bytes);
}

bool sound_values(const StoredTensor& t, size_t first, size_t count) {
  const StoredRow& row = row_of(t.type);
  assert(first % row.values == 0 && count % row.values == 0 && first + count <= t.values());
  const std::span<const std::byte> bytes =
      t.bytes.subspan(first / row.values * row.bytes, count / row.values * row.bytes);
  if (t.type == StoredType::f32) return sound_floats(bytes);
  if (t.type == StoredType::bf16)
    return all_below<uint16_t>(bytes, 2, 0x8000, std::bit_cast<uint32_t>(kLargestWeight) >> 16);
  if (t.type == StoredType::grouped_i8) {
    const size_t begin = first / t.group, end = (first + count + t.group - 1) / t.group;
    return sound_floats(t.scales.subspan(begin * sizeof(float), (end - begin) * sizeof(float)));
  }
  constexpr uint16_t kLargestHalf = 0x7bff;
  bool good = true;
  for (size_t k = 0; k < row.scales; k++)
    good &= all_below<uint16_t>(bytes.subspan(std::min<size_t>(row.scale + 2 * k, bytes.size())), row.bytes, 0x8000,
                                kLargestHalf);
  return good;
}

void refuse_values(const std::string& where) {
  throw Error({.code = ErrorCode::numeric,
               .what = "a weight is no number, or so large that products overflow",
               .where = where,
               .expected = "finite numbers of at most " + number_text(kLargestWeight),
               .hint = "the training diverged, or the file was changed"});
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
