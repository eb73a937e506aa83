#include "glint/io/npy.h"

#include <charconv>
#include <cstring>

#include "glint/base/error.h"
#include "glint/io/json_cursor.h"

namespace glint {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kNpyMaxHeader = 65535;  // what version 1.0 can say; ours take a few hundred bytes

struct DescrRow {
  Dtype dtype;
  std::string_view descr;
};
constexpr DescrRow kDescr[] = {{Dtype::f32, "<f4"}, {Dtype::f64, "<f8"}, {Dtype::u8, "|u1"}, {Dtype::i32, "<i4"}};

// The dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: just this much of Python.
class DictParser {
 public:
  DictParser(std::string_view text, const std::string& where, size_t first_byte)
      : text_(text), where_(where), first_byte_(first_byte) {}

  void parse(NpyView& out) {
    bool descr = false, order = false, shape = false;
    take('{', "a dictionary");
    while (!accept('}')) {
      const size_t key_at = place();
      const std::string_view key = string();
      take(':', "':' after a key");
      bool* seen = key == "descr" ? &descr : key == "fortran_order" ? &order : key == "shape" ? &shape : nullptr;
      if (!seen) fail("unknown key " + show(key), key_at, "descr, fortran_order and shape");
      if (*seen) fail("duplicate key " + show(key), key_at, "each key once");
      *seen = true;
      if (seen == &descr) out.dtype = dtype();
      if (seen == &order) c_order();
      if (seen == &shape) dimensions(out.shape);
      if (!accept(',') && peek() != '}') fail("bad dictionary", place(), "',' or '}'");
    }
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
    if (text_.substr(at_) != "\n") fail("bad end of the header", place(), "spaces and one line feed");
    if (!descr || !order || !shape) fail("header lacks a key", first_byte_, "descr, fortran_order and shape");
  }

 private:
  [[noreturn]] void fail(const std::string& what, size_t byte, const std::string& expected) const {
    refuse(where_, byte, what, expected);
  }
  size_t place() const { return first_byte_ + at_; }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    at_++;
    return true;
  }
  void take(char c, const char* expected) {
    if (!accept(c)) fail("bad header", place(), expected);
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("bad header", place(), "a string in quotes");
    const size_t begin = ++at_;
    at_ = text_.find(quote, begin);
    if (at_ == std::string_view::npos)
      at_ = text_.size(), fail("string without an end", first_byte_ + begin - 1, "a closing quote");
    return text_.substr(begin, at_++ - begin);
  }

  Dtype dtype() {
    peek();
    const size_t at = place();
    const std::string_view text = string();
    for (const DescrRow& row : kDescr)
      if (text == row.descr) return row.dtype;
    fail("element type " + show(text), at, "'<f4', '<f8', '|u1' or '<i4'");
  }

  void c_order() {
    peek();
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("True")) fail("array in Fortran order", place(), "C order: numpy.ascontiguousarray");
    if (!rest.starts_with("False")) fail("bad fortran_order", place(), "False");
    at_ += 5;
  }

  void dimensions(std::vector<size_t>& shape) {
    take('(', "a tuple");
    while (!accept(')')) {
      peek();
      const size_t at = place();
      uint64_t n = 0;
      const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
      const auto [rest, status] = std::from_chars(begin, end, n);
      if (status != std::errc()) fail("bad dimension", at, "a non-negative integer below 2^64");
      at_ += static_cast<size_t>(rest - begin);
      if (shape.size() == kMaxRank) fail("too many dimensions", at, "at most " + std::to_string(kMaxRank));
      shape.push_back(n);
      const bool comma = accept(',');
      // (3) is a number in Python, (3,) a tuple.
      if (!comma && (peek() != ')' || shape.size() == 1)) fail("bad shape", place(), "',' after a dimension");
    }
  }

  std::string_view text_;
  const std::string& where_;
  size_t first_byte_;
  size_t at_ = 0;
};

}  // namespace

NpyView parse_npy(std::span<const std::byte> file, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.substr(0, kMagic.size()) != kMagic) refuse(where, 0, "not a .npy file", "\\x93NUMPY");
  const std::string_view version = text.substr(kMagic.size(), 2);
  if (version != std::string_view("\1\0", 2) && version != std::string_view("\2\0", 2))
    refuse(where, kMagic.size(), "unknown version of the .npy format", "1.0 or 2.0");
  const size_t length_at = kMagic.size() + 2, length_bytes = version[0] == '\1' ? 2 : 4;
  const size_t header_at = length_at + length_bytes;
  if (text.size() < header_at) refuse(where, text.size(), "file ends in the header", "the header length");
  uint32_t length = 0;
  std::memcpy(&length, file.data() + length_at, length_bytes);
  if (length > kNpyMaxHeader || length > text.size() - header_at)
    refuse(where, length_at, "header length " + std::to_string(length) + " is too large",
           "at most " + std::to_string(std::min(kNpyMaxHeader, text.size() - header_at)));

  NpyView view;
  DictParser(text.substr(header_at, length), where, header_at).parse(view);
  view.bytes = file.subspan(header_at + length);
  size_t bytes = 0;
  if (!dense_bytes(view.shape, view.dtype, bytes))
    refuse(where, header_at, "array of shape " + show_shape(view.shape) + " is too large", "less than 2^64 bytes");
  if (bytes != view.bytes.size())
    refuse(where, header_at + length, std::to_string(view.bytes.size()) + " bytes of data",
           std::to_string(bytes) + " bytes for shape " + show_shape(view.shape));
  return view;
}

template <class T>
Matrix<T> read_npy(const std::string& path) {
  const MappedFile file(path);
  const NpyView view = parse_npy(file.bytes(), path);
  const auto refuse_array = [&](const std::string& what, const std::string& expected) {
    bad_file(path, what, expected);
  };
  if (view.dtype != dtype_of<T>())
    refuse_array(std::string("elements of type ") + dtype_name(view.dtype), dtype_name(dtype_of<T>()));
  if (view.shape.empty() || view.shape.size() > 2)
    refuse_array("array of shape " + show_shape(view.shape), "one or two dimensions");
  Matrix<T> m(view.shape.size() == 2 ? view.shape[0] : 1, view.shape.back());
  if (!view.bytes.empty()) std::memcpy(m.data(), view.bytes.data(), view.bytes.size());
  return m;
}

template Matrix<float> read_npy<float>(const std::string&);
template Matrix<double> read_npy<double>(const std::string&);
template Matrix<uint8_t> read_npy<uint8_t>(const std::string&);
template Matrix<int32_t> read_npy<int32_t>(const std::string&);

std::string npy_header(Dtype dtype, std::span<const size_t> shape, int version) {
  assert(version == 1 || version == 2);
  std::string_view descr;
  for (const DescrRow& row : kDescr)
    if (row.dtype == dtype) descr = row.descr;
  if (descr.empty() || shape.size() > kMaxRank)
    throw Error({.what = std::string("cannot write ") + dtype_name(dtype) + " " + show_shape(shape) + " as .npy",
                 .expected = "F32, F64, U8 or I32 of at most " + std::to_string(kMaxRank) + " dimensions"});
  std::string dict = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); i++) {
    if (i > 0) dict += ", ";
    dict += std::to_string(shape[i]);
  }
  dict += shape.size() == 1 ? ",), }" : "), }";

  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t before = kMagic.size() + 2 + length_bytes;
  dict.resize((before + dict.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  dict += '\n';
  const uint32_t length = static_cast<uint32_t>(dict.size());
  std::string header(kMagic);
  header += static_cast<char>(version);
  header += '\0';
  header.append(reinterpret_cast<const char*>(&length), length_bytes);
  return header + dict;
}

void write_npy(FileSystem& files, const std::string& path, Dtype dtype, std::span<const size_t> shape,
               std::span<const std::byte> bytes) {
  size_t expected = 0;
  if (!dense_bytes(shape, dtype, expected) || expected != bytes.size())
    throw Error({.what = std::to_string(bytes.size()) + " bytes for an array of shape " + show_shape(shape),
                 .where = path,
                 .expected = std::to_string(expected) + " bytes"});
  const std::string header = npy_header(dtype, shape);
  write_atomic(files, path, [&](WritableFile& file) {
    file.write(as_bytes(header));
    file.write(bytes);
  });
}

}  // namespace glint
