#include <filesystem>
#include <set>

#include "glint/base/error.h"
#include "glint/io/json_cursor.h"
#include "glint/io/safetensors.h"
#include "glint/io/weight_contents.h"

namespace glint {
namespace {

constexpr const char* kOneFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr const char* kConfigFile = "config.json";
constexpr size_t kMaxIndexBytes = size_t{64} << 20, kMaxConfigBytes = size_t{16} << 20;
constexpr size_t kMaxShards = 1024;

// Null for a type that glint does not widen.
const StoredType* stored_type(Dtype dtype) {
  static constexpr StoredType kF32 = StoredType::f32, kF16 = StoredType::f16, kBf16 = StoredType::bf16;
  switch (dtype) {
    case Dtype::f32:
      return &kF32;
    case Dtype::f16:
      return &kF16;
    case Dtype::bf16:
      return &kBf16;
    default:
      return nullptr;
  }
}

// `index`: null for a file that stands alone.
void add_shard(WeightContents& contents, const std::string& path, const std::string& name, const ShardIndex* index,
               MappedFile map) {
  const SafetensorsView view = parse_safetensors(map.bytes(), path);
  for (const TensorInfo& t : view.tensors()) {
    if (index) {
      const auto entry = index->find(t.name);
      if (entry == index->end() || entry->second != name)
        refuse(path, t.key_byte,
               "tensor " + show(t.name) + (entry == index->end() ? " is not in the index" : " belongs to another file"),
               "what " + std::string(kIndexFile) + " says");
    }
    if (contents.tensors.size() + contents.unreadable.size() == kMaxStoredTensors)
      refuse(path, t.key_byte, "too many tensors", "at most " + std::to_string(kMaxStoredTensors));
    if (const StoredType* type = stored_type(t.dtype))
      contents.tensors.push_back({t.name, t.shape, *type, t.bytes, {}, 0});
    else
      contents.unreadable.push_back({t.name, dtype_name(t.dtype)});
  }
  contents.files.push_back(path);
  contents.maps.push_back(std::move(map));
}

// Every tensor of a shard is in the index: so nothing is missing when there are as many as the index has.
void check_all_there(WeightContents& contents, const ShardIndex& index, const std::string& where) {
  if (contents.tensors.size() + contents.unreadable.size() == index.size()) return;
  std::set<std::string_view> there;
  for (const StoredTensor& t : contents.tensors) there.insert(t.name);
  for (const UnreadableTensor& t : contents.unreadable) there.insert(t.name);
  for (const auto& [tensor, file] : index)
    if (!there.contains(tensor))
      bad_file(where, "the index names a tensor " + show(tensor) + " that is not in " + show(file),
               "an index that fits its files");
}

void check_shard_name(const JsonCursor& cursor, const std::string& name, size_t at) {
  const bool path = name.find('/') != name.npos || name.find('\\') != name.npos || name.find('\0') != name.npos;
  if (path || !name.ends_with(".safetensors"))
    cursor.fail("the file name " + show(name) + (path ? " is a path" : " is no name of a safetensors file"), at,
                "the name of a .safetensors file in the same folder");
}

std::string folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

[[noreturn]] void refuse_folder(const std::string& path) {
  std::string hint;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(".gguf") || file.ends_with(".safetensors"))
      hint = "give the file itself: " + path + "/" + file;
    else if (hint.empty() && file.starts_with("pytorch_model") && file.ends_with(".bin"))
      hint = "convert " + file + " to safetensors: glint reads no pickles, which may contain code";
  }
  bad_file(path, "the folder has no weights that glint reads", std::string(kOneFile) + ", or shards with " + kIndexFile,
           hint);
}

}  // namespace

ShardIndex parse_shard_index(std::string_view text, const std::string& where) {
  JsonCursor cursor(text, where);
  ShardIndex index;
  std::set<std::string, std::less<>> files;
  bool has_map = false;
  cursor.object([&](const std::string& key, size_t at) {
    if (key != "weight_map") {  // "metadata", with sizes that nobody needs
      cursor.skip();
      return;
    }
    if (has_map) cursor.fail("duplicate key 'weight_map'", at, "each key once");
    has_map = true;
    cursor.object([&](std::string tensor, size_t tensor_at) {
      const size_t file_at = cursor.byte();
      std::string file = cursor.string("the name of a file");
      check_shard_name(cursor, file, file_at);
      if (index.size() == kMaxStoredTensors)
        cursor.fail("too many tensors", tensor_at, "at most " + std::to_string(kMaxStoredTensors));
      if (files.insert(file).second && files.size() > kMaxShards)
        cursor.fail("too many files", file_at, "at most " + std::to_string(kMaxShards));
      const auto [place, is_new] = index.emplace(std::move(tensor), std::move(file));
      if (!is_new) cursor.fail("duplicate key " + show(place->first), tensor_at, "each tensor once");
    });
  });
  cursor.finish();
  if (!has_map) cursor.fail("there is no 'weight_map'", 0, "an object that names the file of every tensor");
  return index;
}

namespace {

WeightFile with_config(std::shared_ptr<WeightContents> contents, const std::string& folder, const Json* config) {
  sort_tensors(*contents);
  const std::string path = folder + "/" + kConfigFile;
  if (config)
    contents->metadata = *config;
  else if (exists(path))
    contents->metadata = parse_json(read_file(path, kMaxConfigBytes), path);
  if (!contents->metadata.is_object()) refuse(path, 0, "the file is no JSON object", "an object of keys and values");
  return WeightFile(std::move(contents));
}

std::shared_ptr<WeightContents> contents_of(const std::string& path) {
  auto contents = std::make_shared<WeightContents>();
  contents->where = path;
  contents->format = WeightFormat::safetensors;
  return contents;
}

}  // namespace

WeightFile open_safetensors_file(const std::string& path, MappedFile map) {
  const auto contents = contents_of(path);
  add_shard(*contents, path, path, nullptr, std::move(map));
  return with_config(contents, folder_of(path), nullptr);
}

WeightFile open_safetensors_folder(const std::string& path, const Json* config) {
  if (!std::filesystem::is_directory(path)) return open_safetensors_file(path, MappedFile(path));
  const auto in = [&](const std::string& file) { return path + "/" + file; };
  const auto contents = contents_of(path);
  const auto add = [&](const std::string& file, const ShardIndex* index) {
    add_shard(*contents, in(file), file, index, MappedFile(in(file)));
  };
  if (exists(in(kOneFile))) {
    add(kOneFile, nullptr);
  } else if (exists(in(kIndexFile))) {
    const std::string where = in(kIndexFile);
    const ShardIndex index = parse_shard_index(read_file(where, kMaxIndexBytes), where);
    std::set<std::string> files;
    for (const auto& [tensor, file] : index) files.insert(file);
    for (const std::string& file : files) add(file, &index);
    check_all_there(*contents, index, where);
  } else {
    refuse_folder(path);
  }
  return with_config(contents, path, config);
}

}  // namespace glint
