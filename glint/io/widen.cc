// This file is compiled without contraction: a product and a sum that became one operation would round
// once where the reference rounds twice.
#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "glint/io/stored_tensor.h"
#include "glint/io/tensor.h"

namespace glint {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;  // the file need not align it
  std::memcpy(&value, at, sizeof value);
  return value;
}
float load_half(const std::byte* at) { return from_half(load<uint16_t>(at)); }
uint32_t bits_at(const std::byte* at) { return static_cast<uint8_t>(*at); }

// Blocks of 32: one f16 scale d, in the types that end in 1 also a minimum m. The low nibbles are values 0 to
// 15, the high ones 16 to 31; a fifth bit lies in a word of its own.
void widen_q8_0(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (size_t i = 0; i < 32; i++) out[i] = d * static_cast<float>(load<int8_t>(block + 2 + i));
}

template <bool kMinimum, bool kFifthBit>
void widen_nibbles(const std::byte* block, float* out) {
  const float d = load_half(block);
  const float m = kMinimum ? load_half(block + 2) : 0.0f;
  const std::byte* at = block + (kMinimum ? 4 : 2);
  const uint32_t fifth = kFifthBit ? load<uint32_t>(at) : 0;
  const std::byte* nibbles = at + (kFifthBit ? 4 : 0);
  constexpr int kMiddle = kFifthBit ? 16 : 8;
  for (size_t i = 0; i < 32; i++) {
    const uint32_t low = (bits_at(nibbles + i % 16) >> (i / 16 * 4)) & 15;
    const uint32_t q = low | (fifth >> i & 1) << 4;
    if constexpr (kMinimum)
      out[i] = d * static_cast<float>(q) + m;
    else
      out[i] = d * static_cast<float>(static_cast<int>(q) - kMiddle);
  }
}

// Blocks of 256. Values lie in planes: those of value v in byte (v / 128) * 32 + v % 32 for two bits per value,
// in (v / 64) * 32 + v % 32 for four.
void widen_q2_k(const std::byte* block, float* out) {
  const std::byte *scales = block, *planes = block + 16;
  const float d = load_half(block + 80), minimum = load_half(block + 82);
  for (size_t g = 0; g < 16; g++) {
    const uint32_t s = bits_at(scales + g);
    const float scale = d * static_cast<float>(s & 15), offset = minimum * static_cast<float>(s >> 4);
    for (size_t v = 16 * g; v < 16 * g + 16; v++) {
      const uint32_t q = bits_at(planes + v / 128 * 32 + v % 32) >> (v % 128 / 32 * 2) & 3;
      out[v] = scale * static_cast<float>(q) - offset;
    }
  }
}

void widen_q3_k(const std::byte* block, float* out) {
  const std::byte *high = block, *planes = block + 32, *scales = block + 96;
  const float d = load_half(block + 108);
  for (size_t g = 0; g < 16; g++) {
    const uint32_t low_bits = bits_at(scales + g % 8) >> (g / 8 * 4) & 15;
    const uint32_t high_bits = bits_at(scales + 8 + g % 4) >> (g / 4 * 2) & 3;
    const float scale = d * static_cast<float>(static_cast<int>(low_bits | high_bits << 4) - 32);
    for (size_t v = 16 * g; v < 16 * g + 16; v++) {
      const uint32_t q = bits_at(planes + v / 128 * 32 + v % 32) >> (v % 128 / 32 * 2) & 3;
      const uint32_t keeps = bits_at(high + v % 32) >> (v / 32) & 1;  // a zero bit takes 4 away
      out[v] = scale * static_cast<float>(static_cast<int>(q) - (keeps ? 0 : 4));
    }
  }
}

// The 6-bit scale and minimum of group g of 8, packed into 12 bytes.
void scale_and_minimum(const std::byte* packed, size_t g, uint32_t& scale, uint32_t& minimum) {
  if (g < 4) {
    scale = bits_at(packed + g) & 63;
    minimum = bits_at(packed + 4 + g) & 63;
  } else {
    const uint32_t both = bits_at(packed + 4 + g);
    scale = (both & 15) | (bits_at(packed + g - 4) >> 2 & 0x30);
    minimum = both >> 4 | (bits_at(packed + g) >> 2 & 0x30);
  }
}

template <bool kFifthBit>
void widen_q45_k(const std::byte* block, float* out) {
  const float d = load_half(block), dmin = load_half(block + 2);
  const std::byte *packed = block + 4, *high = block + 16, *planes = block + (kFifthBit ? 48 : 16);
  for (size_t g = 0; g < 8; g++) {
    uint32_t s = 0, m = 0;
    scale_and_minimum(packed, g, s, m);
    const float scale = d * static_cast<float>(s), offset = dmin * static_cast<float>(m);
    for (size_t v = 32 * g; v < 32 * g + 32; v++) {
      uint32_t q = bits_at(planes + v / 64 * 32 + v % 32) >> (g % 2 * 4) & 15;
      if (kFifthBit) q |= (bits_at(high + v % 32) >> g & 1) << 4;
      out[v] = scale * static_cast<float>(q) - offset;
    }
  }
}

void widen_q6_k(const std::byte* block, float* out) {
  const std::byte *low = block, *high = block + 128, *scales = block + 192;
  const float d = load_half(block + 208);
  for (size_t g = 0; g < 16; g++) {
    const float scale = d * static_cast<float>(load<int8_t>(scales + g));
    for (size_t v = 16 * g; v < 16 * g + 16; v++) {
      const size_t half = v / 128, plane = v % 128 / 32, place = v % 32;
      const uint32_t four = bits_at(low + half * 64 + plane % 2 * 32 + place) >> (plane / 2 * 4) & 15;
      const uint32_t two = bits_at(high + half * 32 + place) >> (2 * plane) & 3;
      out[v] = scale * static_cast<float>(static_cast<int>(four | two << 4) - 32);
    }
  }
}

using WidenBlock = void (*)(const std::byte*, float*);

WidenBlock block_function(StoredType type) {
  switch (type) {
    case StoredType::q8_0:
      return widen_q8_0;
    case StoredType::q4_0:
      return widen_nibbles<false, false>;
    case StoredType::q4_1:
      return widen_nibbles<true, false>;
    case StoredType::q5_0:
      return widen_nibbles<false, true>;
    case StoredType::q5_1:
      return widen_nibbles<true, true>;
    case StoredType::q2_k:
      return widen_q2_k;
    case StoredType::q3_k:
      return widen_q3_k;
    case StoredType::q4_k:
      return widen_q45_k<false>;
    case StoredType::q5_k:
      return widen_q45_k<true>;
    case StoredType::q6_k:
      return widen_q6_k;
    default:
      return nullptr;
  }
}

}  // namespace

void widen(const StoredTensor& tensor, size_t first, std::span<float> out) {
  assert(first <= tensor.values() && out.size() <= tensor.values() - first);
  const std::byte* bytes = tensor.bytes.data();
  switch (tensor.type) {
    case StoredType::f32:
      if (!out.empty()) std::memcpy(out.data(), bytes + 4 * first, 4 * out.size());
      return;
    case StoredType::f16:
      for (size_t i = 0; i < out.size(); i++) out[i] = load_half(bytes + 2 * (first + i));
      return;
    case StoredType::bf16:
      for (size_t i = 0; i < out.size(); i++)
        out[i] = std::bit_cast<float>(uint32_t{load<uint16_t>(bytes + 2 * (first + i))} << 16);
      return;
    case StoredType::grouped_i8:
      for (size_t i = first; i < first + out.size(); i++)
        out[i - first] =
            static_cast<float>(load<int8_t>(bytes + i)) * load<float>(tensor.scales.data() + i / tensor.group * 4);
      return;
    default:
      break;
  }
  const WidenBlock widen_block = block_function(tensor.type);
  const size_t values = block_values(tensor.type), size = block_bytes(tensor.type);
  float whole[kMaxBlockValues];
  for (size_t done = 0; done < out.size();) {
    const size_t block = (first + done) / values, skip = (first + done) % values;
    const size_t count = std::min(values - skip, out.size() - done);
    if (count == values) {
      widen_block(bytes + block * size, out.data() + done);
    } else {
      widen_block(bytes + block * size, whole);
      std::copy_n(whole + skip, count, out.data() + done);
    }
    done += count;
  }
}

}  // namespace glint
