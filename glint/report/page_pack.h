// How arrays go into the explorer page: base64 of little-endian bytes, deflated where that helps. And what
// the data of every kind of page have in common.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "glint/model/params.h"

namespace glint {

std::string base64(std::span<const std::byte> bytes);

// zlib format at a fixed level.
std::string deflated(std::span<const std::byte> bytes);

struct PackedArray {
  std::string dtype;  // "f32", "f16", "u8"
  std::vector<size_t> shape;
  bool deflate = false;
  std::string data;  // base64
};
PackedArray pack_f32(std::span<const float> values, std::vector<size_t> shape);
PackedArray pack_f16(std::span<const float> values, std::vector<size_t> shape);
PackedArray pack_u8(std::span<const uint8_t> values, std::vector<size_t> shape);

nlohmann::ordered_json packed_json(PackedArray array);
nlohmann::ordered_json packed_floats(std::span<const double> values, std::vector<size_t> shape);  // as f32
// Every tensor of the table by its name.
nlohmann::ordered_json tensors_json(const ParamTable& table, std::span<const float> weights, bool half);

}  // namespace glint
