// GGUF, version 3 (version 2 has the same bytes):
//
//   "GGUF" | u32 version | u64 number of tensors | u64 number of pairs
//   pairs     u64 length, key | u32 type | value
//             value: a number; a text: u64 length, bytes; a list: u32 type, u64 n, values
//   tensors   u64 length, name | u32 n_dims | u64 ne[n_dims] | u32 type | u64 offset
//   data      from the next multiple of general.alignment (32); each tensor is padded to that multiple
//
// ne[0] is the contiguous dimension: shapes are turned round here. As in llama.cpp, tensors follow each other
// in the order of the header, without holes.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/io/json_cursor.h"
#include "glint/io/tensor.h"
#include "glint/io/weight_contents.h"

namespace glint {
namespace {

constexpr uint32_t kGgufMaxDims = 4;
constexpr uint64_t kGgufAlignment = 32, kGgufMinAlignment = 8, kGgufMaxAlignment = 65536;
constexpr uint64_t kGgufMaxName = 65535;
// A number takes 16 bytes in a tree of JSON and may take one in the file, hence a bound for all short lists.
constexpr uint64_t kMaxListInJson = 64, kMaxNumbersInJson = uint64_t{1} << 18;

// Types of values in the metadata.
struct GgufValue {
  enum : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };
};
constexpr std::array<uint8_t, 13> kGgufValueBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// Types of tensors: sizes of all that llama.cpp writes, so that the bounds of each can be checked.
struct GgufType {
  uint32_t id;
  const char* name;
  uint16_t values, bytes;  // of a block
  const StoredType* type;  // null: glint does not widen it
};
constexpr StoredType kGgufTypes[] = {StoredType::f32,  StoredType::f16,  StoredType::bf16, StoredType::q8_0,
                                     StoredType::q4_0, StoredType::q4_1, StoredType::q5_0, StoredType::q5_1,
                                     StoredType::q2_k, StoredType::q3_k, StoredType::q4_k, StoredType::q5_k,
                                     StoredType::q6_k};
constexpr GgufType kGgufTensorTypes[] = {{0, "F32", 1, 4, &kGgufTypes[0]},
                                         {1, "F16", 1, 2, &kGgufTypes[1]},
                                         {30, "BF16", 1, 2, &kGgufTypes[2]},
                                         {8, "Q8_0", 32, 34, &kGgufTypes[3]},
                                         {2, "Q4_0", 32, 18, &kGgufTypes[4]},
                                         {3, "Q4_1", 32, 20, &kGgufTypes[5]},
                                         {6, "Q5_0", 32, 22, &kGgufTypes[6]},
                                         {7, "Q5_1", 32, 24, &kGgufTypes[7]},
                                         {10, "Q2_K", 256, 84, &kGgufTypes[8]},
                                         {11, "Q3_K", 256, 110, &kGgufTypes[9]},
                                         {12, "Q4_K", 256, 144, &kGgufTypes[10]},
                                         {13, "Q5_K", 256, 176, &kGgufTypes[11]},
                                         {14, "Q6_K", 256, 210, &kGgufTypes[12]},
                                         {9, "Q8_1", 32, 40, nullptr},
                                         {15, "Q8_K", 256, 292, nullptr},
                                         {16, "IQ2_XXS", 256, 66, nullptr},
                                         {17, "IQ2_XS", 256, 74, nullptr},
                                         {18, "IQ3_XXS", 256, 98, nullptr},
                                         {19, "IQ1_S", 256, 50, nullptr},
                                         {20, "IQ4_NL", 32, 18, nullptr},
                                         {21, "IQ3_S", 256, 110, nullptr},
                                         {22, "IQ2_S", 256, 82, nullptr},
                                         {23, "IQ4_XS", 256, 136, nullptr},
                                         {24, "I8", 1, 1, nullptr},
                                         {25, "I16", 1, 2, nullptr},
                                         {26, "I32", 1, 4, nullptr},
                                         {27, "I64", 1, 8, nullptr},
                                         {28, "F64", 1, 8, nullptr},
                                         {29, "IQ1_M", 256, 56, nullptr},
                                         {34, "TQ1_0", 256, 54, nullptr},
                                         {35, "TQ2_0", 256, 66, nullptr},
                                         {39, "MXFP4", 32, 17, nullptr},
                                         {40, "NVFP4", 64, 36, nullptr},
                                         {41, "Q1_0", 128, 18, nullptr}};

}  // namespace

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> file, const std::string& where) : file_(file), where_(where) {
    contents_.format = WeightFormat::gguf;
    contents_.where = where;
  }

  WeightContents parse() {
    check_start();
    const uint64_t tensors = count("tensors", kMaxStoredTensors), pairs = count("pairs", kMaxMetadataPairs);
    for (uint64_t i = 0; i < pairs; i++) read_pair();
    check_metadata();
    for (uint64_t i = 0; i < tensors; i++) read_tensor();
    place_tensors();
    sort_tensors(contents_);
    return std::move(contents_);
  }

 private:
  // Where a tensor lies; as long as tensors_ of the contents, readable or not, in the order of the header.
  struct Place {
    std::string name;
    size_t at;  // in the header
    uint64_t offset, bytes;
    bool readable;
  };

  [[noreturn]] void fail(size_t at, const std::string& what, const std::string& expected,
                         const std::string& hint = {}) const {
    refuse(where_, at, what, expected, hint);
  }

  std::span<const std::byte> take(uint64_t bytes, const char* what) {
    if (bytes > file_.size() - at_)
      fail(at_, std::string(what) + " of " + std::to_string(bytes) + " bytes goes beyond the end of the file",
           "at most " + std::to_string(file_.size() - at_));
    const auto part = file_.subspan(at_, bytes);
    at_ += bytes;
    return part;
  }
  template <class T>
  T number(const char* what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  std::string_view text_here(const char* what, uint64_t most) {
    const size_t at = at_;
    const uint64_t length = number<uint64_t>(what);
    if (length > most)
      fail(at, std::string(what) + " has " + std::to_string(length) + " bytes", "at most " + std::to_string(most));
    const auto bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string utf8_here(const char* what, uint64_t most) {
    const size_t at = at_;
    const std::string_view all = text_here(what, most);
    for (size_t i = 0; i < all.size();) {
      const size_t n = utf8_length(all.substr(i));
      if (n == 0) fail(at, std::string(what) + " is not UTF-8", "UTF-8");
      i += n;
    }
    return std::string(all);
  }

  void check_start() {
    const auto magic = take(std::min<size_t>(4, file_.size()), "the mark");
    if (magic.size() < 4 || std::memcmp(magic.data(), "GGUF", 4) != 0)
      fail(0, "this is no GGUF file", "the bytes GGUF at its start");
    const uint32_t version = number<uint32_t>("the version");
    if (version == 0x02000000 || version == 0x03000000) fail(4, "the file is big-endian", "a little-endian file");
    if (version != 2 && version != 3)
      fail(4, "the file has version " + std::to_string(version), "GGUF version 3 (or 2)",
           "convert the model with a newer llama.cpp");
  }

  // A tensor takes at least 24 bytes of the header, a pair 13: so the counts are bounded by the file, too.
  uint64_t count(const char* what, uint64_t most) {
    const size_t at = at_;
    const uint64_t n = number<uint64_t>("the header");
    if (n > most || n > file_.size())
      fail(at, "the file claims " + std::to_string(n) + " " + what,
           "at most " + std::to_string(std::min<uint64_t>(most, file_.size())));
    return n;
  }

  void read_pair() {
    const size_t at = at_;
    std::string key = utf8_here("a key", kGgufMaxName);
    if (key.empty()) fail(at, "a key is empty", "a name");
    if (contents_.metadata.contains(key) || contents_.arrays.contains(key))
      fail(at, "the key " + show(key) + " is there twice", "each key once");
    const bool of_tokenizer = key.starts_with("tokenizer.");
    const uint32_t type = number<uint32_t>("a type");
    if (type == GgufValue::list) {
      read_list(key);
    } else {
      Json value = scalar(type, key);
      contents_.metadata[std::move(key)] = std::move(value);
    }
    if (of_tokenizer) contents_.tokenizer_pairs.push_back(file_.subspan(at, at_ - at));
  }

  Json scalar(uint32_t type, const std::string& key) {
    switch (type) {
      case GgufValue::u8:
        return number<uint8_t>("a value");
      case GgufValue::i8:
        return number<int8_t>("a value");
      case GgufValue::u16:
        return number<uint16_t>("a value");
      case GgufValue::i16:
        return number<int16_t>("a value");
      case GgufValue::u32:
        return number<uint32_t>("a value");
      case GgufValue::i32:
        return number<int32_t>("a value");
      case GgufValue::u64:
        return number<uint64_t>("a value");
      case GgufValue::i64:
        return number<int64_t>("a value");
      case GgufValue::f32:
        return real(number<float>("a value"), key);
      case GgufValue::f64:
        return real(number<double>("a value"), key);
      case GgufValue::boolean: {
        const uint8_t value = number<uint8_t>("a value");
        if (value > 1) fail(at_ - 1, "the truth value of " + show(key) + " is " + std::to_string(value), "0 or 1");
        return value == 1;
      }
      case GgufValue::text:
        return utf8_here("a text", file_.size());
      default:
        fail(at_ - 4, "the value of " + show(key) + " has the unknown type " + std::to_string(type),
             "a type from 0 to 12");
    }
  }
  double real(double value, const std::string& key) const {
    if (!std::isfinite(value)) fail(at_, "the value of " + show(key) + " is no number", "a finite number");
    return value;
  }

  void read_list(const std::string& key) {
    const uint32_t type = number<uint32_t>("a type");
    if (type > GgufValue::f64 || type == GgufValue::list)
      fail(at_ - 4, "the list " + show(key) + " is of the type " + std::to_string(type),
           "numbers, truth values or texts");
    const uint64_t n = number<uint64_t>("a length");
    if (type != GgufValue::text && n <= kMaxListInJson) {
      numbers_in_json_ += n;
      if (numbers_in_json_ > kMaxNumbersInJson)
        fail(at_, "the metadata have too many short lists",
             "at most " + std::to_string(kMaxNumbersInJson) + " numbers");
      Json values = Json::array();
      for (uint64_t i = 0; i < n; i++) values.push_back(scalar(type, key));
      contents_.metadata[key] = std::move(values);
      return;
    }
    StoredArray array;
    array.type_ = type;
    array.kind_ = type == GgufValue::text                            ? StoredArray::Kind::text
                  : type == GgufValue::f32 || type == GgufValue::f64 ? StoredArray::Kind::real
                  : type == GgufValue::boolean                       ? StoredArray::Kind::boolean
                                                                     : StoredArray::Kind::integer;
    const size_t begin = at_;
    array.data_ = file_.data() + begin;
    // At least so many bytes each, so that a length that lies is noticed before memory is asked for.
    const uint64_t least = type == GgufValue::text ? 8 : kGgufValueBytes[type];
    if (n > (file_.size() - at_) / least)
      fail(at_ - 8, "the list " + show(key) + " claims " + std::to_string(n) + " values",
           "at most " + std::to_string((file_.size() - at_) / least) + ", for which the file has bytes");
    array.size_ = n;
    if (type != GgufValue::text) {
      take(n * least, "a list");
      check_values(array, key, begin);
    } else {
      array.starts_.reserve(n);
      for (uint64_t i = 0; i < n; i++) {
        const size_t start = at_ - begin;
        if (start > UINT32_MAX) fail(at_, "the list " + show(key) + " is too long", "at most 4 GiB");
        array.starts_.push_back(static_cast<uint32_t>(start));
        text_here("a text", file_.size());
      }
    }
    contents_.arrays.emplace(key, std::move(array));
  }
  void check_values(const StoredArray& array, const std::string& key, size_t begin) const {
    for (size_t i = 0; i < array.size_; i++) {
      const std::byte* value = array.data_ + i * kGgufValueBytes[array.type_];
      if (array.type_ == GgufValue::boolean && static_cast<uint8_t>(*value) > 1)
        fail(begin + i, "a truth value of " + show(key) + " is " + std::to_string(static_cast<uint8_t>(*value)),
             "0 or 1");
      if (array.type_ == GgufValue::u64 && static_cast<uint8_t>(value[7]) > 127)
        fail(begin + 8 * i, "a number of " + show(key) + " is too large", "at most 2^63 - 1");
    }
  }

  void check_metadata() {
    const Json& m = contents_.metadata;
    if (m.contains("general.alignment")) {
      const Json& a = m["general.alignment"];
      const uint64_t value = a.is_number_unsigned() ? a.get<uint64_t>() : 0;
      if (value < kGgufMinAlignment || value > kGgufMaxAlignment || (value & (value - 1)) != 0)
        fail(at_, "general.alignment is " + a.dump(), "a power of two from 8 to 65536");
      alignment_ = value;
    }
    if (m.contains("split.count") && m["split.count"] != 1 && m["split.count"] != 0)
      fail(at_, "this is one of several files of a model (split.count " + m["split.count"].dump() + ")",
           "the whole model in one file", "join the parts with llama-gguf-split");
  }

  void read_tensor() {
    const size_t at = at_;
    std::string name = utf8_here("the name of a tensor", kGgufMaxName);
    if (name.empty()) fail(at, "a tensor has no name", "a name");
    const uint32_t dims = number<uint32_t>("the number of dimensions");
    if (dims > kGgufMaxDims)
      fail(at, "tensor " + show(name) + " has " + std::to_string(dims) + " dimensions",
           "at most " + std::to_string(kGgufMaxDims));
    std::vector<size_t> shape(dims);
    for (uint32_t i = 0; i < dims; i++) shape[dims - 1 - i] = number<uint64_t>("a dimension");
    const uint32_t id = number<uint32_t>("the type of a tensor");
    const auto type = std::find_if(std::begin(kGgufTensorTypes), std::end(kGgufTensorTypes),
                                   [&](const GgufType& t) { return t.id == id; });
    if (type == std::end(kGgufTensorTypes))
      fail(at, "tensor " + show(name) + " is of the unknown type " + std::to_string(id),
           "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1 or Q2_K to Q6_K");
    const uint64_t offset = number<uint64_t>("the offset of a tensor");
    const uint64_t bytes = tensor_bytes(shape, *type, name, at);
    places_.push_back({name, at, offset, bytes, type->type != nullptr});
    if (type->type)
      contents_.tensors.push_back({std::move(name), std::move(shape), *type->type, {}, {}, 0});
    else
      contents_.unreadable.push_back({std::move(name), type->name});
  }

  uint64_t tensor_bytes(const std::vector<size_t>& shape, const GgufType& type, const std::string& name,
                        size_t at) const {
    const uint64_t row = shape.empty() ? 1 : shape.back();
    if (row % type.values != 0)
      fail(at, "the rows of tensor " + show(name) + " have " + std::to_string(row) + " values",
           "a multiple of " + std::to_string(type.values) + ", the block of " + type.name);
    // A dimension of 0 would hide what the others overflow to.
    uint64_t values = 1;
    for (const size_t n : shape)
      if (n == 0 || __builtin_mul_overflow(values, n, &values))
        fail(at, "tensor " + show(name) + " has the shape " + show_shape(shape),
             "dimensions from 1, with a product below 2^64");
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(values / type.values, uint64_t{type.bytes}, &bytes))
      fail(at, "tensor " + show(name) + " of shape " + show_shape(shape) + " is too large", "a size below 2^64 bytes");
    return bytes;
  }

  void place_tensors() {
    const uint64_t padding = (alignment_ - at_ % alignment_) % alignment_;
    if (places_.empty()) return;
    const size_t data = at_ + take(padding, "the padding before the data").size();
    uint64_t expected = 0;
    size_t readable = 0;
    for (const Place& p : places_) {
      if (p.offset != expected)
        fail(p.at, "tensor " + show(p.name) + " begins at byte " + std::to_string(p.offset) + " of the data",
             "byte " + std::to_string(expected) + ", where the one before ends");
      if (p.offset > file_.size() - data || p.bytes > file_.size() - data - p.offset)
        fail(p.at, "tensor " + show(p.name) + " of " + std::to_string(p.bytes) + " bytes goes beyond the file",
             std::to_string(file_.size() - data) + " bytes of data are there");
      if (p.readable) contents_.tensors[readable++].bytes = file_.subspan(data + p.offset, p.bytes);
      // No overflow: what was added lies in the file.
      expected = (p.offset + p.bytes + alignment_ - 1) / alignment_ * alignment_;
    }
  }

  std::span<const std::byte> file_;
  const std::string& where_;
  size_t at_ = 0;
  uint64_t alignment_ = kGgufAlignment, numbers_in_json_ = 0;
  WeightContents contents_;
  std::vector<Place> places_;
};

WeightContents parse_gguf(std::span<const std::byte> file, const std::string& where) {
  return GgufParser(file, where).parse();
}

int64_t StoredArray::integer(size_t i) const {
  assert(kind_ == Kind::integer && i < size_);
  const size_t width = kGgufValueBytes[type_];
  uint64_t value = 0;
  std::memcpy(&value, data_ + i * width, width);
  const bool is_signed = type_ == GgufValue::i8 || type_ == GgufValue::i16 || type_ == GgufValue::i32;
  const unsigned shift = is_signed ? static_cast<unsigned>(64 - 8 * width) : 0;  // extends the sign
  return static_cast<int64_t>(value << shift) >> shift;
}

double StoredArray::real(size_t i) const {
  assert(kind_ == Kind::real && i < size_);
  if (type_ == GgufValue::f32) {
    float value = 0;
    std::memcpy(&value, data_ + 4 * i, 4);
    return value;
  }
  double value = 0;
  std::memcpy(&value, data_ + 8 * i, 8);
  return value;
}

bool StoredArray::boolean(size_t i) const {
  assert(kind_ == Kind::boolean && i < size_);
  return data_[i] == std::byte{1};
}

std::string_view StoredArray::text(size_t i) const {
  assert(kind_ == Kind::text && i < size_);
  const std::byte* at = data_ + starts_[i];
  uint64_t length = 0;
  std::memcpy(&length, at, 8);
  return {reinterpret_cast<const char*>(at + 8), length};
}

}  // namespace glint
