#include "glint/io/weight_file.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/io/gguf_write.h"
#include "glint/io/json_cursor.h"
#include "glint/io/weight_contents.h"

namespace glint {
namespace {

struct KnownStart {
  std::string_view bytes;
  const char* what;
  const char* hint;
};
// Files that people may give by mistake.
constexpr KnownStart kForeignStarts[] = {
    {"PK\x03\x04", "a PyTorch or ZIP file, which may contain code", "convert the model to safetensors"},
    {"\x80\x02", "a Python pickle, which may contain code", "convert the model to safetensors"},
    {"ggml", "a GGML file of an early llama.cpp", "convert the model to GGUF"},
    {"lmgg", "a GGML file of an early llama.cpp", "convert the model to GGUF"},
    {"tjgg", "a GGJT file of an early llama.cpp", "convert the model to GGUF"},
    {"fmgg", "a GGMF file of an early llama.cpp", "convert the model to GGUF"},
    {"algg", "an adapter (GGLA) of an early llama.cpp", "merge it into its model and convert that to GGUF"},
    {"\x89HDF", "an HDF5 file", "convert the model to safetensors"},
    {"version https://git-lfs", "a pointer of Git LFS, not the file itself", "git lfs pull"},
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<WeightFormat> format_of(std::span<const std::byte> file) {
  const std::string_view text = text_of(file);
  if (text.starts_with("GGUF")) return WeightFormat::gguf;
  if (is_llama2c(file)) return WeightFormat::llama2c;
  uint64_t header = 0;
  if (file.size() < 10) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  if (header <= file.size() - 8 && text[8] == '{') return WeightFormat::safetensors;
  return std::nullopt;
}

template <class T>
const T* find_by_name(std::span<const T> sorted, std::string_view name) {
  const auto place =
      std::lower_bound(sorted.begin(), sorted.end(), name, [](const T& t, std::string_view n) { return t.name < n; });
  return place != sorted.end() && place->name == name ? &*place : nullptr;
}

WeightFile open_one(const std::string& path, MappedFile map,
                    WeightContents (*parse)(std::span<const std::byte>, const std::string&)) {
  const auto contents = std::make_shared<WeightContents>(parse(map.bytes(), path));
  contents->files = {path};
  contents->maps.push_back(std::move(map));
  return WeightFile(contents);
}

}  // namespace

const char* name(WeightFormat format) {
  static constexpr const char* kNames[] = {"safetensors", "GGUF", "llama2.c"};
  return kNames[static_cast<size_t>(format)];
}

WeightFile::WeightFile(std::shared_ptr<const WeightContents> contents) : contents_(std::move(contents)) {
  assert(contents_);
}

WeightFormat WeightFile::format() const { return contents_->format; }
const std::string& WeightFile::where() const { return contents_->where; }
std::span<const std::string> WeightFile::files() const { return contents_->files; }
uint64_t WeightFile::file_bytes() const {
  uint64_t sum = 0;
  for (const MappedFile& map : contents_->maps) sum += map.bytes().size();
  return sum;
}
std::span<const StoredTensor> WeightFile::tensors() const { return contents_->tensors; }
std::span<const UnreadableTensor> WeightFile::unreadable() const { return contents_->unreadable; }
const Json& WeightFile::metadata() const { return contents_->metadata; }

const StoredArray* WeightFile::array(std::string_view key) const {
  const auto at = contents_->arrays.find(key);
  return at == contents_->arrays.end() ? nullptr : &at->second;
}

const StoredTensor* WeightFile::find(std::string_view name) const { return find_by_name(tensors(), name); }

const StoredTensor& WeightFile::at(std::string_view name) const {
  if (const StoredTensor* tensor = find(name)) return *tensor;
  if (const UnreadableTensor* tensor = find_by_name(unreadable(), name))
    bad_file(where(), "tensor " + show(name) + " is stored as " + tensor->type,
             "F32, F16, BF16, or in GGUF one of Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K to Q6_K");
  // Long names and long lists are left out: the search for a near name must stay cheap.
  std::vector<std::string> names;
  for (const StoredTensor& t : tensors())
    if (t.name.size() <= 64 && names.size() < 256) names.push_back(t.name);
  const std::string near = nearest(name, names);
  bad_file(where(), "no tensor " + show(name),
           "a file with this tensor; it has " + std::to_string(tensors().size()) + " others",
           near.empty() ? "" : "did you mean " + show(near) + "?");
}

void sort_tensors(WeightContents& contents) {
  std::sort(contents.tensors.begin(), contents.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  std::sort(contents.unreadable.begin(), contents.unreadable.end(),
            [](const UnreadableTensor& a, const UnreadableTensor& b) { return a.name < b.name; });
  const auto twice = [&](const std::string& name) {
    bad_file(contents.where, "there are two tensors " + show(name), "each name once");
  };
  for (size_t i = 1; i < contents.tensors.size(); i++)
    if (contents.tensors[i - 1].name == contents.tensors[i].name) twice(contents.tensors[i].name);
  for (size_t i = 0; i < contents.unreadable.size(); i++) {
    const std::string& name = contents.unreadable[i].name;
    if ((i > 0 && contents.unreadable[i - 1].name == name) || find_by_name<StoredTensor>(contents.tensors, name))
      twice(name);
  }
}

std::optional<WeightFormat> weight_format(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    for (const char* file : {"/model.safetensors", "/model.safetensors.index.json"})
      if (exists(path + file)) return WeightFormat::safetensors;
    return std::nullopt;
  }
  if (!exists(path)) return std::nullopt;
  return format_of(MappedFile(path).bytes());
}

WeightFile open_gguf(const std::string& path) { return open_one(path, MappedFile(path), parse_gguf); }
WeightFile open_llama2c(const std::string& path) { return open_one(path, MappedFile(path), parse_llama2c); }

WeightFile open_weights(const std::string& path, const Json* config) {
  if (std::filesystem::is_directory(path)) return open_safetensors_folder(path, config);
  MappedFile map(path);
  switch (const std::optional<WeightFormat> format = format_of(map.bytes()); format.value_or(WeightFormat())) {
    case WeightFormat::gguf:
      return open_one(path, std::move(map), parse_gguf);
    case WeightFormat::llama2c:
      return open_one(path, std::move(map), parse_llama2c);
    case WeightFormat::safetensors:
      if (format) return open_safetensors_file(path, std::move(map));
  }
  std::string what = "this is no file of weights that glint knows", hint;
  for (const KnownStart& start : kForeignStarts)
    if (text_of(map.bytes()).starts_with(start.bytes)) what = std::string("this is ") + start.what, hint = start.hint;
  if (const std::string wrong = llama2c_size(map.bytes()); !wrong.empty()) what = wrong;
  bad_file(path, what, kWeightFormats, hint);
}

std::string WeightFile::tokenizer_bytes() const {
  GgufHeader header;
  header.add_pairs(contents_->tokenizer_pairs);
  return header.bytes();
}

}  // namespace glint
