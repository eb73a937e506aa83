#include <algorithm>
#include <numeric>
#include <set>

#include "glint/base/error.h"
#include "glint/io/json_cursor.h"
#include "glint/io/safetensors.h"

namespace glint {
namespace {

void check(std::span<const TensorToWrite> tensors) {
  std::set<std::string_view> names;
  for (const TensorToWrite& t : tensors) {
    size_t bytes = 0;
    if (!dense_bytes(t.shape, t.dtype, bytes) || bytes != t.bytes.size())
      throw Error({.what = "tensor " + show(t.name) + " of shape " + show_shape(t.shape) + " has " +
                           std::to_string(t.bytes.size()) + " bytes",
                   .expected = std::to_string(bytes) + " bytes of " + dtype_name(t.dtype)});
    if (t.shape.size() > kMaxRank)
      throw Error({.what = "tensor " + show(t.name) + " has " + std::to_string(t.shape.size()) + " dimensions",
                   .expected = "at most " + std::to_string(kMaxRank)});
    if (t.name == "__metadata__")
      throw Error({.what = "a tensor cannot have the name '__metadata__'", .expected = "another name"});
    if (!names.insert(t.name).second)
      throw Error({.what = "two tensors have the name " + show(t.name), .expected = "each name once"});
  }
}

}  // namespace

void write_safetensors(WritableFile& file, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  check(tensors);
  std::vector<size_t> order(tensors.size()), begin(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return dtype_size(tensors[a].dtype) > dtype_size(tensors[b].dtype); });
  size_t offset = 0;
  for (const size_t i : order) begin[i] = offset, offset += tensors[i].bytes.size();

  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (header.back() != '{') header += ',';
      header += json_quote(key) + ":" + json_quote(value);
    }
    header += "}";
  }
  for (size_t i = 0; i < tensors.size(); i++) {
    const TensorToWrite& t = tensors[i];
    if (header.size() > 1) header += ",";
    header += json_quote(t.name) + ":{\"dtype\":\"" + dtype_name(t.dtype) + "\",\"shape\":[";
    for (size_t d = 0; d < t.shape.size(); d++) {
      if (d > 0) header += ',';
      header += std::to_string(t.shape[d]);
    }
    header +=
        "],\"data_offsets\":[" + std::to_string(begin[i]) + "," + std::to_string(begin[i] + t.bytes.size()) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8

  const uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(as_bytes(header));
  for (const size_t i : order) file.write(tensors[i].bytes);
}

void write_safetensors(FileSystem& files, const std::string& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_atomic(files, path, [&](WritableFile& file) { write_safetensors(file, tensors, metadata); });
}

}  // namespace glint
