#include "glint/report/page_pack.h"

#include <zlib.h>

#include <bit>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/io/tensor.h"

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
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
                9) != Z_OK)
    throw Error({.code = ErrorCode::failure, .what = "zlib cannot compress an array of the page"});
  out.resize(size);
  return out;
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

}  // namespace glint
