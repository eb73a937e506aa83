// Files of weights made byte by byte, for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace glint {

template <class T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// A GGUF file, part by part.
class GgufFile {
 public:
  uint32_t version = 3;
  uint64_t tensors = 0, pairs = 0;
  std::string head, infos, data;
  size_t alignment = 32;

  static std::string text(std::string_view s) { return raw<uint64_t>(s.size()) + std::string(s); }
  GgufFile& pair(std::string_view key, uint32_t type, const std::string& value) {
    head += text(key) + raw(type) + value;
    pairs++;
    return *this;
  }
  GgufFile& tensor(std::string_view name, const std::vector<uint64_t>& ne, uint32_t type, uint64_t offset) {
    infos += text(name) + raw(static_cast<uint32_t>(ne.size()));
    for (const uint64_t n : ne) infos += raw(n);
    infos += raw(type) + raw(offset);
    tensors++;
    return *this;
  }
  std::string bytes() const {
    std::string all = "GGUF" + raw(version) + raw(tensors) + raw(pairs) + head + infos;
    all.append((alignment - all.size() % alignment) % alignment, '\0');
    return all + data;
  }
};

// The numbers of a llama2.c model, and its file in any version. Values count up from 0 in the order of the
// file.
struct Llama2cFile {
  int32_t dim = 8, hidden = 12, layers = 2, heads = 2, kv_heads = 1, vocab = 5, context = 6;
  bool own_head = false;
  int32_t group = 4;

  std::string numbers(bool sign) const {
    std::string s;
    for (const int32_t n : {dim, hidden, layers, heads, kv_heads, sign && own_head ? -vocab : vocab, context})
      s += raw(n);
    return s;
  }
  // `version` 2: values of a tensor count up from 0 again, scales from 1.
  std::string bytes(int version) const {
    const int d = dim, h = hidden, n = layers, kv = dim / heads * kv_heads;
    std::string s;
    float next = 0;
    const auto floats = [&](int count) {
      for (int i = 0; i < count; i++) s += raw(next++);
    };
    const auto tensor = [&](int count) {
      if (version < 2) return floats(count);
      for (int i = 0; i < count; i++) s += static_cast<char>(i % 128);
      for (int i = 0; i < count / group; i++) s += raw(static_cast<float>(i + 1));
    };
    const int matrices[] = {d * d, kv * d, kv * d, d * d, h * d, d * h, h * d};
    if (version == 0) {
      s = numbers(true);
      floats(vocab * d), floats(n * d);
      for (int m = 0; m < 4; m++) floats(n * matrices[m]);
      floats(n * d);
      for (int m = 4; m < 7; m++) floats(n * matrices[m]);
      floats(d), floats(context * (d / heads));
      if (own_head) floats(vocab * d);
      return s;
    }
    s = raw<uint32_t>(0x616b3432) + raw<int32_t>(version) + numbers(false) + (own_head ? '\0' : '\1');
    if (version == 2) s += raw(group);
    s.resize(256);
    floats(2 * n * d + d);
    tensor(vocab * d);
    for (const int m : matrices)
      for (int i = 0; i < n; i++) tensor(m);
    if (own_head) tensor(vocab * d);
    return s;
  }
};

}  // namespace glint
