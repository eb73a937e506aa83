#include "glint/io/seal.h"

namespace glint {
namespace {

constexpr size_t kDigits = 64;
constexpr const char* kVersionKey = "version";
constexpr const char* kVersion = "2";

const std::string& zeros() {
  static const std::string text(kDigits, '0');
  return text;
}

std::string digest_of(std::string_view before, std::string_view after) {
  Sha256 hash;
  for (const std::string_view part : {before, std::string_view(zeros()), after}) hash.update(as_bytes(part));
  return hex(hash.finish());
}

// Whether the digest that stands in the text is that of the text. A quote before it, so that it is a value of
// its own.
bool check(std::string_view text, const std::string& digest) {
  if (digest.size() != kDigits) return false;
  const size_t quote = text.find("\"" + digest + "\"");
  return quote != text.npos && digest_of(text.substr(0, quote + 1), text.substr(quote + 1 + kDigits)) == digest;
}

}  // namespace

std::string sealed_text(Json object, int indent) {
  object[kSealKey] = zeros();
  std::string text = object.dump(indent);
  const size_t at = text.find("\"" + zeros() + "\"") + 1;
  return text.replace(at, kDigits, digest_of(text.substr(0, at), text.substr(at + kDigits)));
}

bool is_sealed(std::string_view text, const Json& object) {
  const auto found = object.find(kSealKey);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return found != object.end() && found->is_string() && check(text, found->get<std::string>());
}

void write_sealed_safetensors(FileSystem& files, const std::string& path, std::span<const TensorToWrite> tensors,
                              std::map<std::string, std::string> metadata) {
  metadata[kVersionKey] = kVersion;
  metadata[kSealKey] = zeros();
  HashFile hash;
  write_safetensors(hash, tensors, metadata);
  metadata[kSealKey] = hash.finish();
  write_safetensors(files, path, tensors, metadata);
}

bool is_sealed(const SafetensorsFile& file) {
  const std::string *digest = file->find_metadata(kSealKey), *version = file->find_metadata(kVersionKey);
  if (!digest || !version || *version != kVersion) return false;
  const std::span<const std::byte> bytes = file.bytes();
  return check({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, *digest);
}

}  // namespace glint
