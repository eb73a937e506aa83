// safetensors files: named tensors with a JSON header, used in place. The reader refuses what the format's
// reference implementation refuses, and duplicate keys and unknown fields besides.
//
//   u64 LE n | n bytes of JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...} | data
//
// Limits: header 100 MB, 131,072 tensors, 65,536 pairs of metadata, 16 dimensions. They keep what the reader
// allocates below twice the file + 64 MB.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glint/base/file.h"
#include "glint/base/matrix.h"
#include "glint/io/tensor.h"

namespace glint {

struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;  // in the file
  size_t key_byte = 0;               // where the header speaks of it
};

// Float elements: in the file itself when they are f32 and aligned, otherwise converted into `owned`.
struct FloatMatrix {
  ConstMatrixView<float> view;
  Matrix<float> owned;
};

class SafetensorsView {
 public:
  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // by place in the data
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }  // by key
  const std::string* find_metadata(std::string_view key) const;

  const TensorInfo* find(std::string_view name) const;  // null when absent
  const TensorInfo& at(std::string_view name) const;    // Error when absent
  // A tensor of exactly this shape, as bytes.
  const TensorInfo& at(std::string_view name, std::span<const size_t> shape, Dtype dtype) const;

  // F32, F64, F16 and BF16 as float; F64 is rounded. The first form takes any two dimensions.
  FloatMatrix matrix(std::string_view name) const;
  FloatMatrix matrix(std::string_view name, size_t rows, size_t cols) const;
  // Any shape, as rows x last dimension; `expected` must be the shape of the file.
  FloatMatrix matrix(std::string_view name, std::span<const size_t> expected) const;

  const std::string& where() const { return where_; }

 private:
  friend SafetensorsView parse_safetensors(std::span<const std::byte>, const std::string&);
  FloatMatrix floats(const TensorInfo& tensor) const;
  [[noreturn]] void refuse(const TensorInfo& tensor, const std::string& what, const std::string& expected) const;

  std::string where_;
  std::vector<TensorInfo> tensors_;
  std::vector<size_t> by_name_;  // indices into tensors_
  std::vector<std::pair<std::string, std::string>> metadata_;
};

// Views stay valid as long as `file` does. `where` names the file in errors.
SafetensorsView parse_safetensors(std::span<const std::byte> file, const std::string& where);

// Owns the mapping that its view points into.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  const SafetensorsView& view() const { return view_; }
  const SafetensorsView* operator->() const { return &view_; }
  std::span<const std::byte> bytes() const { return file_.bytes(); }  // of the whole file

 private:
  MappedFile file_;
  SafetensorsView view_;
};

struct TensorToWrite {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;
};

template <class T>
TensorToWrite tensor_to_write(std::string name, ConstMatrixView<T> m) {
  assert(m.stride() == m.cols());
  return {
      std::move(name), dtype_of<T>(), {m.rows(), m.cols()}, std::as_bytes(std::span(m.data(), m.rows() * m.cols()))};
}

// The same arguments give the same bytes. Header keys come in the order given, metadata first; the data of
// wider elements comes first, so that every tensor is aligned to its elements. Error (failure) for two equal
// names, a name that is not UTF-8, or bytes that do not fit the shape.
void write_safetensors(FileSystem& files, const std::string& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});
// Into a file that is already open, for writers that do more with it.
void write_safetensors(WritableFile& file, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace glint
