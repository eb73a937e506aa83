#include "glint/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "glint/base/error.h"
#include "glint/io/json_cursor.h"
#include "glint/io/tensor.h"

namespace glint {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kTensorsMaxHeader = 100'000'000;  // the bound of the reference implementation
constexpr size_t kMaxTensors = size_t{1} << 17, kMaxMetadata = size_t{1} << 16;

// The header entry of one tensor, with offsets not yet checked against the data.
struct Entry {
  TensorInfo info;
  size_t begin = 0, end = 0;
};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : cursor_(text, where, kLengthBytes, 4) {}

  std::vector<Entry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;

  void parse() {
    bool has_metadata = false;
    cursor_.object([&](std::string key, size_t at) {
      if (key == "__metadata__") {
        if (has_metadata) cursor_.fail("duplicate key '__metadata__'", at, "each key once");
        has_metadata = true;
        parse_metadata();
        return;
      }
      if (entries.size() == kMaxTensors) cursor_.fail("too many tensors", at, "at most " + std::to_string(kMaxTensors));
      entries.push_back(parse_entry(std::move(key), at));
    });
    cursor_.finish();
  }

 private:
  void parse_metadata() {
    const size_t start = cursor_.byte();
    cursor_.object([&](std::string key, size_t at) {
      if (metadata.size() == kMaxMetadata)
        cursor_.fail("too much metadata", at, "at most " + std::to_string(kMaxMetadata) + " pairs");
      metadata.emplace_back(std::move(key), cursor_.string("a string: metadata maps strings to strings"));
    });
    std::sort(metadata.begin(), metadata.end());
    const auto twin = std::adjacent_find(metadata.begin(), metadata.end(),
                                         [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twin != metadata.end())
      cursor_.fail("duplicate key " + show(twin->first) + " in the metadata", start, "each key once");
  }

  Entry parse_entry(std::string name, size_t at) {
    Entry entry;
    bool dtype = false, shape = false, offsets = false;
    const auto once = [&](bool& seen, const std::string& key, size_t key_at) {
      if (seen) cursor_.fail("duplicate key " + show(key) + " in tensor " + show(name), key_at, "each key once");
      seen = true;
    };
    cursor_.object([&](const std::string& key, size_t key_at) {
      if (key == "dtype") {
        once(dtype, key, key_at);
        entry.info.dtype = parse_dtype(name);
      } else if (key == "shape") {
        once(shape, key, key_at);
        parse_shape(entry.info.shape, name);
      } else if (key == "data_offsets") {
        once(offsets, key, key_at);
        parse_offsets(entry, name);
      } else {
        cursor_.fail("unknown field " + show(key) + " in tensor " + show(name), key_at,
                     "dtype, shape and data_offsets");
      }
    });
    for (const auto& [seen, field] : {std::pair(dtype, "dtype"), {shape, "shape"}, {offsets, "data_offsets"}})
      if (!seen)
        cursor_.fail("tensor " + show(name) + " has no field '" + field + "'", at, "dtype, shape and data_offsets");
    entry.info.name = std::move(name);
    entry.info.key_byte = at;
    return entry;
  }

  Dtype parse_dtype(const std::string& name) {
    const size_t at = cursor_.byte();
    const std::string text = cursor_.string();
    const Dtype* dtype = find_dtype(text);
    if (!dtype)
      cursor_.fail("unknown dtype " + show(text) + " of tensor " + show(name), at,
                   "F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL, F8_E4M3 or F8_E5M2");
    return *dtype;
  }

  void parse_shape(std::vector<size_t>& shape, const std::string& name) {
    size_t dims[kMaxRank], rank = 0;  // copied once: no vector that grows for every tensor
    const size_t at = cursor_.byte();
    cursor_.array([&] {
      if (rank == kMaxRank)
        cursor_.fail("too many dimensions in tensor " + show(name), at, "at most " + std::to_string(kMaxRank));
      dims[rank++] = cursor_.unsigned_integer();
    });
    shape.assign(dims, dims + rank);
  }

  void parse_offsets(Entry& entry, const std::string& name) {
    size_t numbers[2] = {}, count = 0;
    const size_t at = cursor_.byte();
    cursor_.array([&] {
      const size_t value = cursor_.unsigned_integer();
      if (count < 2) numbers[count] = value;
      count++;
    });
    if (count != 2 || numbers[0] > numbers[1])
      cursor_.fail("bad data_offsets of tensor " + show(name), at, "[begin, end] with begin <= end");
    entry.begin = numbers[0];
    entry.end = numbers[1];
  }

  JsonCursor cursor_;
};

// Sorted by place, the tensors must cover the data without hole or overlap.
void check_cover(std::vector<Entry>& entries, size_t data_size, const std::string& where) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(a.begin, a.end, a.info.key_byte) < std::tuple(b.begin, b.end, b.info.key_byte);
  });
  size_t covered = 0;
  for (const Entry& e : entries) {
    const std::string_view name = e.info.name;
    const auto bad = [&](const std::string& what, const std::string& expected) {
      refuse(where, e.info.key_byte, what, expected);
    };
    if (e.end > data_size)
      bad("tensor " + show(name) + " ends at byte " + std::to_string(e.end) + " of the data",
          "at most " + std::to_string(data_size) + ", the bytes after the header");
    if (e.begin != covered)
      bad("tensor " + show(name) + (e.begin < covered ? " overlaps the one before" : " leaves a hole before it"),
          "data_offsets that begin at " + std::to_string(covered));
    size_t bytes = 0;
    if (!dense_bytes(e.info.shape, e.info.dtype, bytes))
      bad("tensor " + show(name) + " of shape " + show_shape(e.info.shape) + " is too large",
          "a size below 2^64 bytes");
    if (bytes != e.end - e.begin)
      bad("tensor " + show(name) + " has " + std::to_string(e.end - e.begin) + " bytes of data",
          std::to_string(bytes) + " bytes for " + dtype_name(e.info.dtype) + " " + show_shape(e.info.shape));
    covered = e.end;
  }
}

template <class T, class F>
void convert(std::span<const std::byte> bytes, float* out, F&& to_float) {
  for (size_t i = 0; i < bytes.size() / sizeof(T); i++) {
    T value;  // the file need not align it
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = to_float(value);
  }
}

}  // namespace

SafetensorsView parse_safetensors(std::span<const std::byte> file, const std::string& where) {
  if (file.size() < kLengthBytes)
    refuse(where, file.size(), "file of " + std::to_string(file.size()) + " bytes is too short",
           "8 bytes of header length first");
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kTensorsMaxHeader)
    refuse(where, 0, "header length " + std::to_string(length) + " is too large",
           "at most " + std::to_string(kTensorsMaxHeader) + " bytes; is this a safetensors file?");
  if (length > file.size() - kLengthBytes)
    refuse(where, 0, "header length " + std::to_string(length) + " is beyond the end of the file",
           "at most " + std::to_string(file.size() - kLengthBytes) + " bytes");
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  if (header.empty() || header[0] != '{')
    refuse(where, kLengthBytes, "header does not begin with '{'", "a JSON object");

  HeaderParser parser(header, where);
  parser.parse();
  const std::span<const std::byte> data = file.subspan(kLengthBytes + length);
  check_cover(parser.entries, data.size(), where);

  SafetensorsView view;
  view.where_ = where;
  view.metadata_ = std::move(parser.metadata);
  view.tensors_.reserve(parser.entries.size());
  size_t covered = 0;
  for (Entry& e : parser.entries) {
    e.info.bytes = data.subspan(e.begin, e.end - e.begin);
    covered = e.end;
    view.tensors_.push_back(std::move(e.info));
  }
  if (covered != data.size())
    refuse(where, kLengthBytes + length + covered, std::to_string(data.size() - covered) + " bytes belong to no tensor",
           "tensors that cover the data to its end");

  view.by_name_.resize(view.tensors_.size());
  std::iota(view.by_name_.begin(), view.by_name_.end(), size_t{0});
  const auto& tensors = view.tensors_;
  std::sort(view.by_name_.begin(), view.by_name_.end(), [&](size_t a, size_t b) {
    const int order = tensors[a].name.compare(tensors[b].name);
    return order < 0 || (order == 0 && tensors[a].key_byte < tensors[b].key_byte);
  });
  for (size_t i = 1; i < view.by_name_.size(); i++) {
    const TensorInfo& second = tensors[view.by_name_[i]];
    if (tensors[view.by_name_[i - 1]].name == second.name)
      refuse(where, second.key_byte, "duplicate key " + show(second.name), "each tensor once");
  }
  return view;
}

const std::string* SafetensorsView::find_metadata(std::string_view key) const {
  const auto place = std::lower_bound(metadata_.begin(), metadata_.end(), key,
                                      [](const auto& pair, std::string_view k) { return pair.first < k; });
  return place != metadata_.end() && place->first == key ? &place->second : nullptr;
}

const TensorInfo* SafetensorsView::find(std::string_view name) const {
  const auto place = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [&](size_t i, std::string_view n) { return tensors_[i].name < n; });
  return place != by_name_.end() && tensors_[*place].name == name ? &tensors_[*place] : nullptr;
}

const TensorInfo& SafetensorsView::at(std::string_view name) const {
  if (const TensorInfo* tensor = find(name)) return *tensor;
  // Long names and long lists are left out: the search for a near name must stay cheap.
  std::vector<std::string> names;
  for (size_t i = 0; i < tensors_.size() && names.size() < 256; i++)
    if (tensors_[i].name.size() <= 64) names.push_back(tensors_[i].name);
  const std::string near = nearest(name, names);
  bad_file(where_, "no tensor " + show(name),
           "a file with this tensor; it has " + std::to_string(tensors_.size()) + " others",
           near.empty() ? "" : "did you mean " + show(near) + "?");
}

void SafetensorsView::refuse(const TensorInfo& tensor, const std::string& what, const std::string& expected) const {
  glint::refuse(where_, tensor.key_byte, "tensor " + show(tensor.name) + " has " + what, expected);
}

const TensorInfo& SafetensorsView::at(std::string_view name, std::span<const size_t> shape, Dtype dtype) const {
  const TensorInfo& tensor = at(name);
  if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end()))
    refuse(tensor, "shape " + show_shape(tensor.shape), show_shape(shape));
  if (dtype != tensor.dtype) refuse(tensor, std::string("dtype ") + dtype_name(tensor.dtype), dtype_name(dtype));
  return tensor;
}

FloatMatrix SafetensorsView::floats(const TensorInfo& tensor) const {
  const size_t count = tensor.bytes.size() / dtype_size(tensor.dtype);
  const size_t cols = tensor.shape.empty() ? 1 : tensor.shape.back();
  // With no elements the number of rows is that of the shape only when there is one other dimension.
  const size_t rows = tensor.shape.size() == 2 ? tensor.shape[0] : cols == 0 ? 0 : count / cols;
  FloatMatrix result;
  const std::byte* data = tensor.bytes.data();
  if (tensor.dtype == Dtype::f32 && reinterpret_cast<uintptr_t>(data) % alignof(float) == 0) {
    result.view = {reinterpret_cast<const float*>(data), rows, cols};
    return result;
  }
  result.owned = Matrix<float>(rows, cols);
  float* out = result.owned.data();
  switch (tensor.dtype) {
    case Dtype::f32:
      convert<float>(tensor.bytes, out, [](float v) { return v; });
      break;
    case Dtype::f64:
      convert<double>(tensor.bytes, out, [](double v) { return static_cast<float>(v); });
      break;
    case Dtype::f16:
      convert<uint16_t>(tensor.bytes, out, from_half);
      break;
    case Dtype::bf16:
      convert<uint16_t>(tensor.bytes, out, [](uint16_t v) { return std::bit_cast<float>(uint32_t{v} << 16); });
      break;
    default:
      refuse(tensor, std::string("dtype ") + dtype_name(tensor.dtype), "F32, F64, F16 or BF16");
  }
  result.view = std::as_const(result.owned).view();
  return result;
}

FloatMatrix SafetensorsView::matrix(std::string_view name) const {
  const TensorInfo& tensor = at(name);
  if (tensor.shape.size() != 2) refuse(tensor, "shape " + show_shape(tensor.shape), "two dimensions");
  return floats(tensor);
}

FloatMatrix SafetensorsView::matrix(std::string_view name, size_t rows, size_t cols) const {
  const size_t expected[] = {rows, cols};
  return matrix(name, expected);
}

FloatMatrix SafetensorsView::matrix(std::string_view name, std::span<const size_t> expected) const {
  const TensorInfo& tensor = at(name);
  return floats(at(name, expected, tensor.dtype));
}

SafetensorsFile::SafetensorsFile(const std::string& path)
    : file_(path), view_(parse_safetensors(file_.bytes(), path)) {}

}  // namespace glint
