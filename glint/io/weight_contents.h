// What the reader of a format finds in a file. The readers take bytes, so that tests and fuzzers need no
// file; weight_file.h has the functions that open one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/io/weight_file.h"

namespace glint {

struct WeightContents {
  WeightFormat format = WeightFormat::safetensors;
  std::string where;
  std::vector<std::string> files;
  std::vector<MappedFile> maps;       // of the files; empty when the bytes are somebody else's
  std::vector<StoredTensor> tensors;  // by name
  std::vector<UnreadableTensor> unreadable;
  Json metadata = Json::object();
  std::map<std::string, StoredArray, std::less<>> arrays;
  std::vector<std::span<const std::byte>> tokenizer_pairs;  // of a GGUF file: key, type and value as they are stored
};

// As many as any reader takes: they keep what a hostile file can make a reader allocate below 64 MB.
inline constexpr size_t kMaxStoredTensors = size_t{1} << 17, kMaxMetadataPairs = size_t{1} << 16;

// Views stay valid as long as `file` does. `where` names the file in errors, which are all Errors (bad_file).
WeightContents parse_gguf(std::span<const std::byte> file, const std::string& where);
WeightContents parse_llama2c(std::span<const std::byte> file, const std::string& where);
// A single safetensors file that is mapped already.
WeightFile open_safetensors_file(const std::string& path, MappedFile map);
// Whether the first bytes and the size are those of a llama2.c file: version 0 has no mark.
bool is_llama2c(std::span<const std::byte> file);
// What is wrong with a file that begins as a llama2.c file of version 0 does: its size; "" for all others.
std::string llama2c_size(std::span<const std::byte> file);

// The content of model.safetensors.index.json: the file of every tensor, by tensor. The names of files are
// names in the same folder, never paths.
using ShardIndex = std::map<std::string, std::string, std::less<>>;
ShardIndex parse_shard_index(std::string_view text, const std::string& where);

// Sorts by name. Error (bad_file) for two tensors of one name, readable or not.
void sort_tensors(WeightContents& contents);

}  // namespace glint
