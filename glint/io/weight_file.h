// The weights of a model in any format that glint reads, mapped into memory: opening reads the headers alone.
//
//   safetensors  a folder of Hugging Face (one file, or shards with an index), or a single file; names are
//                the file's own, the metadata are those of config.json beside it ({} where there is none)
//   GGUF         one file of version 3 or 2; names and metadata are the file's own
//   llama2.c     one file of version 0, 1 or 2; tensors have the names, and metadata the keys, that GGUF has
//                for a model of the architecture `llama`: `blk.0.attn_q.weight`, `llama.embedding_length`.
//                Rotary pairs are adjacent, as they are in GGUF files of that architecture
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/io/stored_tensor.h"

namespace glint {

enum class WeightFormat { safetensors, gguf, llama2c };
const char* name(WeightFormat format);  // "safetensors", "GGUF", "llama2.c"

// A list in the metadata of a GGUF file, used in place: vocabularies are long.
class StoredArray {
 public:
  enum class Kind { integer, real, boolean, text };
  Kind kind() const { return kind_; }
  size_t size() const { return size_; }
  // Each asserts its kind and the index. Integers: of any width; u64 beyond int64 are refused at opening.
  int64_t integer(size_t i) const;
  double real(size_t i) const;
  bool boolean(size_t i) const;
  std::string_view text(size_t i) const;

 private:
  friend class GgufParser;
  Kind kind_ = Kind::integer;
  size_t size_ = 0;
  uint32_t type_ = 0;
  const std::byte* data_ = nullptr;
  std::vector<uint32_t> starts_;  // of texts: where the length of each stands, in bytes after data_
};

// A tensor of a type that glint does not read: integers, F8_E4M3, IQ4_XS ...
struct UnreadableTensor {
  std::string name, type;
};

struct WeightContents;  // glint/io/weight_contents.h

// Cheap to copy: copies share the mapping, which lives as long as any of them.
class WeightFile {
 public:
  explicit WeightFile(std::shared_ptr<const WeightContents> contents);

  WeightFormat format() const;
  const std::string& where() const;  // the path that was opened
  // What is mapped: one file, or every shard. Sizes in bytes are those of the files.
  std::span<const std::string> files() const;
  uint64_t file_bytes() const;

  std::span<const StoredTensor> tensors() const;          // by name
  const StoredTensor* find(std::string_view name) const;  // null when absent
  // Error (bad_file) when absent, with the nearest name, or when it is of a type that glint does not read.
  const StoredTensor& at(std::string_view name) const;
  // They are no obstacle to the others.
  std::span<const UnreadableTensor> unreadable() const;

  // An object. Lists of texts, and lists of more than 64 numbers, are not in it: see array().
  const Json& metadata() const;
  const StoredArray* array(std::string_view key) const;  // null when absent
  // The tokenizer of a GGUF file as a GGUF file of its own, without tensors.
  std::string tokenizer_bytes() const;

 private:
  std::shared_ptr<const WeightContents> contents_;
};

// What open_weights takes, in words.
inline constexpr char kWeightFormats[] =
    "a Hugging Face folder (safetensors), a .safetensors or .gguf file, or a llama2.c file (.bin)";
// By what the path is and by its first bytes. Error (bad_file) that names the formats when it is none. `config`:
// the config.json of a folder, where somebody has read it already.
WeightFile open_weights(const std::string& path, const Json* config = nullptr);
// What open_weights would take it for: by the names in a folder, by the first bytes of a file and its size.
std::optional<WeightFormat> weight_format(const std::string& path);

// A folder with model.safetensors or model.safetensors.index.json, or one file (*.safetensors).
WeightFile open_safetensors_folder(const std::string& path, const Json* config = nullptr);
WeightFile open_gguf(const std::string& path);
WeightFile open_llama2c(const std::string& path);

}  // namespace glint
