// A checksum inside the very file that it is of, so that whoever reads the file notices damage.
//
//   sha256 = SHA-256 of the text, or of the file, with the 64 digits of this field as zeros
//
// It guards against accidents, not against malice.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/io/json.h"
#include "glint/io/safetensors.h"

namespace glint {

inline constexpr const char* kSealKey = "sha256";

// A file that is only hashed.
class HashFile : public WritableFile {
 public:
  void write(std::span<const std::byte> bytes) override { hash_.update(bytes); }
  void sync() override {}
  std::string finish() { return hex(hash_.finish()); }

 private:
  Sha256 hash_;
};

// The text of the object with the field "sha256"; `indent` is that of Json::dump. No line feed at the end.
std::string sealed_text(Json object, int indent = -1);
// Whether the checksum is there and right; `object` is what `text` says, which may end with a line feed.
bool is_sealed(std::string_view text, const Json& object);

// As write_safetensors, with "sha256" and "version" 2 in the metadata.
void write_sealed_safetensors(FileSystem& files, const std::string& path, std::span<const TensorToWrite> tensors,
                              std::map<std::string, std::string> metadata);
bool is_sealed(const SafetensorsFile& file);

}  // namespace glint
