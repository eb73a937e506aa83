#include "glint/report/page_pack.h"

#include <zlib.h>

#include <bit>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/finite.h"

namespace glint {

using nlohmann::ordered_json;

namespace {

PackedArray pack(std::string dtype, std::span<const std::byte> bytes, std::vector<size_t> shape) {
  static_assert(std::endian::native == std::endian::little, "the page holds little-endian numbers");
  PackedArray array;
  array.dtype = std::move(dtype);
  array.shape = std::move(shape);
  const std::string small = deflated(bytes);
  // Weights hardly shrink, and unpacking costs the reader time: only where a fifth is saved.
  array.deflate = small.size() < bytes.size() / 5 * 4;
  array.data = array.deflate ? base64(std::as_bytes(std::span(small))) : base64(bytes);
  return array;
}

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = bytes.size() - i;
    const auto at = [&](size_t k) { return k < left ? std::to_integer<uint32_t>(bytes[i + k]) : 0u; };
    const uint32_t word = at(0) << 16 | at(1) << 8 | at(2);
    out += kDigits[word >> 18];
    out += kDigits[word >> 12 & 63];
    out += left > 1 ? kDigits[word >> 6 & 63] : '=';
    out += left > 2 ? kDigits[word & 63] : '=';
  }
  return out;
}

std::string deflated(std::span<const std::byte> bytes) {
  std::string out(compressBound(bytes.size()), '\0');
  uLongf size = out.size();
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                bytes.size(), 9) != Z_OK)
    throw Error({.code = ErrorCode::failure, .what = "zlib cannot compress an array of the page"});
  out.resize(size);
  return out;
}

uint16_t to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;  // half a unit above the largest
  // A half has 11 significant bits above 2^-14 and a fixed step of 2^-24 below: scaled so that this step is
  // 1, rounding to a whole number is rounding to a half.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int step = std::max(exponent - 11, -24);
  const float steps = std::nearbyint(std::ldexp(magnitude, -step));  // at most 2^11, exact
  const uint32_t count = static_cast<uint32_t>(steps);
  if (step == -24 && count < 1024) return sign | static_cast<uint16_t>(count);
  // count is in [1024, 2048]; 2048 carries into the exponent by itself.
  return sign | static_cast<uint16_t>((static_cast<uint32_t>(step + 25) << 10) + (count - 1024));
}

float from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

PackedArray pack_f32(std::span<const float> values, std::vector<size_t> shape) {
  return pack("f32", std::as_bytes(values), std::move(shape));
}

PackedArray pack_f16(std::span<const float> values, std::vector<size_t> shape) {
  std::vector<uint16_t> half(values.size());
  for (size_t i = 0; i < values.size(); i++) {
    half[i] = to_half(values[i]);
    if (!std::isfinite(from_half(half[i]))) throw_overflow("weights of the page, stored as f16 to fit its limit");
  }
  return pack("f16", std::as_bytes(std::span<const uint16_t>(half)), std::move(shape));
}

PackedArray pack_u8(std::span<const uint8_t> values, std::vector<size_t> shape) {
  return pack("u8", std::as_bytes(values), std::move(shape));
}

ordered_json packed_json(PackedArray array) {
  ordered_json j;
  j["dtype"] = array.dtype;
  j["shape"] = array.shape;
  if (array.deflate) j["deflate"] = true;
  j["data"] = std::move(array.data);
  return j;
}

ordered_json packed_floats(std::span<const double> values, std::vector<size_t> shape) {
  const std::vector<float> narrow(values.begin(), values.end());
  if (!all_finite(narrow)) throw_overflow("numbers of the page, which are stored as floats");
  return packed_json(pack_f32(narrow, std::move(shape)));
}

ordered_json tensors_json(const ParamTable& table, std::span<const float> weights, bool half) {
  ordered_json j = ordered_json::object();
  for (const ParamSpec& spec : table.specs()) {
    const std::span<const float> values = weights.subspan(spec.offset, spec.size());
    const std::vector<size_t> shape =
        spec.vector ? std::vector<size_t>{spec.cols} : std::vector<size_t>{spec.rows, spec.cols};
    j[spec.name] = packed_json(half ? pack_f16(values, shape) : pack_f32(values, shape));
  }
  return j;
}

ordered_json gate_json(const Gate& gate) {
  const GateText& text = gate_info(gate.kind).text;
  return {
      {"name", text.name}, {"title", text.title}, {"formula", text.value}, {"hasParams", text.has_params}};
}

}  // namespace glint
