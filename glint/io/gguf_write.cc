#include "glint/io/gguf_write.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "glint/base/error.h"
#include "glint/io/tensor.h"

namespace glint {
namespace {

constexpr uint64_t kWrittenAlignment = 32;
constexpr size_t kQ8Block = 32;
constexpr uint32_t kTypeU32 = 4, kTypeF32 = 6, kTypeText = 8;  // of values in the metadata

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_text(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out += text;
}

// To the nearest half, ties to even; what is too large becomes infinite.
uint16_t to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  if (size >= 65520.0f) return static_cast<uint16_t>(sign | 0x7c00);
  if (size < 0x1p-14f) return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(size * 0x1p24f)));
  const uint32_t rest = std::bit_cast<uint32_t>(size) - (112u << 23);
  return static_cast<uint16_t>(sign | ((rest + 0xfff + (rest >> 13 & 1)) >> 13));
}

// The type of a tensor in the file, its number there, and its bytes.
struct TypeHere {
  StoredType type;
  uint32_t id;
  uint64_t bytes;
};
TypeHere type_here(const StoredTensor& t, StoredType wanted) {
  const size_t values = t.values();
  if (t.shape.size() < 2 || (wanted == StoredType::q8_0 && t.shape.back() % kQ8Block != 0)) wanted = StoredType::f32;
  if (wanted == StoredType::f16) return {wanted, 1, 2 * values};
  if (wanted == StoredType::q8_0) return {wanted, 8, values / kQ8Block * (kQ8Block + 2)};
  return {StoredType::f32, 0, 4 * values};
}

std::string encoded(std::span<const float> values, StoredType type) {
  std::string out;
  if (type == StoredType::f32) out.assign(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  if (type == StoredType::f16)
    for (const float v : values) put(out, to_f16(v));
  if (type == StoredType::q8_0)
    for (size_t at = 0; at < values.size(); at += kQ8Block) {
      float most = 0;
      for (size_t i = 0; i < kQ8Block; i++) most = std::max(most, std::fabs(values[at + i]));
      const float scale = most / 127, inverse = scale > 0 ? 1 / scale : 0;
      put(out, to_f16(scale));
      for (size_t i = 0; i < kQ8Block; i++) put(out, static_cast<int8_t>(std::lround(values[at + i] * inverse)));
    }
  return out;
}

}  // namespace

void GgufHeader::begin(std::string_view key, uint32_t type) {
  put_text(pairs_, key);
  put(pairs_, type);
  count_++;
}
void GgufHeader::add(std::string_view key, std::string_view text) {
  begin(key, kTypeText);
  put_text(pairs_, text);
}
void GgufHeader::add(std::string_view key, uint32_t number) {
  begin(key, kTypeU32);
  put(pairs_, number);
}
void GgufHeader::add(std::string_view key, float number) {
  begin(key, kTypeF32);
  put(pairs_, number);
}
void GgufHeader::add_pairs(std::span<const std::span<const std::byte>> pairs) {
  for (const std::span<const std::byte> pair : pairs)
    pairs_.append(reinterpret_cast<const char*>(pair.data()), pair.size());
  count_ += pairs.size();
}
std::string GgufHeader::start(uint64_t tensors) const {
  std::string out = "GGUF";
  put<uint32_t>(out, 3);
  put(out, tensors);
  put(out, count_);
  return out;
}

void write_gguf(FileSystem& files, const std::string& path, const GgufHeader& header,
                std::span<const StoredTensor> tensors, StoredType type) {
  check_argument(type == StoredType::f32 || type == StoredType::f16 || type == StoredType::q8_0, "write_gguf",
                 "f32, f16 or q8_0");
  std::string head = header.start(tensors.size()) + header.pairs_;
  uint64_t offset = 0;
  for (const StoredTensor& t : tensors) {
    const TypeHere here = type_here(t, type);
    put_text(head, t.name);
    put(head, static_cast<uint32_t>(t.shape.size()));
    for (size_t i = t.shape.size(); i-- > 0;) put<uint64_t>(head, t.shape[i]);
    put(head, here.id);
    put(head, offset);
    offset += (here.bytes + kWrittenAlignment - 1) / kWrittenAlignment * kWrittenAlignment;
  }
  const auto padded = [](std::string bytes) {
    bytes.resize((bytes.size() + kWrittenAlignment - 1) / kWrittenAlignment * kWrittenAlignment);
    return bytes;
  };
  write_atomic(files, path, [&](WritableFile& file) {
    file.write(as_bytes(padded(head)));
    std::vector<float> values;
    for (const StoredTensor& t : tensors) {
      values.resize(t.values());
      widen(t, 0, values);
      file.write(as_bytes(padded(encoded(values, type_here(t, type).type))));
    }
  });
}

}  // namespace glint
