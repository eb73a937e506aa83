// Small IDX files for the tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "glint/base/file.h"
#include "glint/data/idx.h"

namespace glint {

// `content` as one gzip member.
inline std::string gzip(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Pixels count up from 0; labels too, modulo `classes`.
inline std::string image_file(size_t count, size_t height, size_t width) {
  std::string file = idx_image_header(count, height, width);
  for (size_t i = 0; i < count * height * width; i++) file += static_cast<char>(i);
  return file;
}
inline std::string label_file(size_t count, size_t classes) {
  std::string file = idx_label_header(count);
  for (size_t i = 0; i < count; i++) file += static_cast<char>(i % classes);
  return file;
}

// A folder that goes away with the object.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "glint-data-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write_atomic(real_files(), path(name), content);
  }

 private:
  std::string path_;
};

}  // namespace glint
