// NumPy's .npy files: one dense array. Reads and writes little-endian, C-order f4, f8, u1 and i4.
//
//   "\x93NUMPY" | version 1.0 or 2.0 | u16 (1.0) or u32 (2.0) LE n | n bytes: a Python dictionary, spaces,
//   '\n' | data
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/base/matrix.h"
#include "glint/io/tensor.h"

namespace glint {

struct NpyView {
  Dtype dtype = Dtype::f32;  // f32, f64, u8 or i32
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;  // in the file; the file need not align them
};

// Error (bad_file) with file, byte and rule for anything else than one such array that fills the file
// exactly.
NpyView parse_npy(std::span<const std::byte> file, const std::string& where);

// A file of two dimensions (or one: a single row), with elements of type T.
template <class T>
Matrix<T> read_npy(const std::string& path);

// The bytes before the data. They are those that NumPy writes: version 1.0, padded to a multiple of 64.
// Version 2.0 is there for readers that want it.
std::string npy_header(Dtype dtype, std::span<const size_t> shape, int version = 1);

void write_npy(FileSystem& files, const std::string& path, Dtype dtype, std::span<const size_t> shape,
               std::span<const std::byte> bytes);
template <class T>
void write_npy(FileSystem& files, const std::string& path, ConstMatrixView<T> m) {
  assert(m.stride() == m.cols());
  const size_t shape[] = {m.rows(), m.cols()};
  write_npy(files, path, dtype_of<T>(), shape, std::as_bytes(std::span(m.data(), m.rows() * m.cols())));
}

}  // namespace glint
