// Files of llama2.c, from their bytes alone. Version 0 has no mark: it is accepted when the size fits
// exactly.
//
//   0  i32 dim, hidden, layers, heads, kv_heads, vocab (negative: with a head of its own), context | f32: tok
//      [V,d], att_norm [n,d], wq, wk, wv, wo, ffn_norm [n,d], w1 [n,h,d], w2 [n,d,h], w3 [n,h,d], norm [d],
//      two rotary tables [context, head/2], [head [V,d]]
//   1  u32 mark, i32 1, the seven numbers, u8 shared, zeros to byte 256 | f32: att norms, ffn norms, norm,
//   tok,
//      wq, wk, wv, wo, w1, w2, w3, [head]
//   2  as 1 with i32 group size at byte 37; the norms are f32, then each tensor of each layer: int8 values,
//      f32 scales
//
// w1 is the gate, w2 the way down, w3 the way up. The rotary tables of version 0 are what the numbers give
// and are not read, as in llama2.c itself.
#include <array>
#include <cstring>

#include "glint/base/error.h"
#include "glint/base/tokens.h"
#include "glint/io/weight_contents.h"

namespace glint {
namespace {

constexpr uint32_t kLlama2cMark = 0x616b3432;
constexpr size_t kLlama2cHeader = 256, kVersion0Header = 7 * 4;
// Bounds of the numbers: no product of them overflows, and a small file cannot have many tensors.
constexpr int64_t kMaxLlama2cWidth = 1 << 20, kMaxLlama2cLayers = 1024, kMaxLlama2cContext = 1 << 24;

struct Llama2cShape {
  uint64_t dim = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, vocab = 0, context = 0;
  bool own_head = false;
  uint64_t head() const { return dim / heads; }
  uint64_t kv_dim() const { return head() * kv_heads; }
};

template <class T>
T at_byte(std::span<const std::byte> file, size_t byte) {
  T value;
  std::memcpy(&value, file.data() + byte, sizeof(T));
  return value;
}

// What is wrong with the seven numbers at `byte`; "" when they are a model.
std::string read_shape(std::span<const std::byte> file, size_t byte, Llama2cShape& s) {
  std::array<int64_t, 7> n{};
  for (size_t i = 0; i < 7; i++) n[i] = at_byte<int32_t>(file, byte + 4 * i);
  s.own_head = n[5] < 0;
  if (n[5] < 0) n[5] = -n[5];
  constexpr int64_t kMost[] = {kMaxLlama2cWidth,  kMaxLlama2cWidth, kMaxLlama2cLayers,
                               kMaxLlama2cWidth,  kMaxLlama2cWidth, static_cast<int64_t>(kMaxVocab),
                               kMaxLlama2cContext};
  constexpr const char* kNames[] = {"dim", "hidden", "layers", "heads", "kv_heads", "vocab", "context"};
  for (size_t i = 0; i < 7; i++)
    if (n[i] < 1 || n[i] > kMost[i])
      return std::string(kNames[i]) + " is " + std::to_string(n[i]) + ", not from 1 to " + std::to_string(kMost[i]);
  const auto u = [&](size_t i) { return static_cast<uint64_t>(n[i]); };
  s.dim = u(0), s.hidden = u(1), s.layers = u(2), s.heads = u(3), s.kv_heads = u(4), s.vocab = u(5);
  s.context = u(6);
  if (s.dim % (2 * s.heads) != 0) return "dim is no multiple of 2 heads";
  if (s.heads % s.kv_heads != 0) return "heads is no multiple of kv_heads";
  return {};
}

// Values of all tensors that are matrices, without the norms.
uint64_t matrix_values(const Llama2cShape& s) {
  const uint64_t layer = 2 * s.dim * s.dim + 2 * s.kv_dim() * s.dim + 3 * s.hidden * s.dim;
  return (s.own_head ? 2 : 1) * s.vocab * s.dim + s.layers * layer;
}
uint64_t norm_values(const Llama2cShape& s) { return (2 * s.layers + 1) * s.dim; }

uint64_t version0_bytes(const Llama2cShape& s) {
  return kVersion0Header + 4 * (matrix_values(s) + norm_values(s) + s.context * s.head());
}

// The matrices of a layer, in the order of every version.
struct Part {
  const char* name;
  uint64_t rows, cols;
};
std::array<Part, 7> layer_parts(const Llama2cShape& s) {
  return {{{"attn_q", s.dim, s.dim},
           {"attn_k", s.kv_dim(), s.dim},
           {"attn_v", s.kv_dim(), s.dim},
           {"attn_output", s.dim, s.dim},
           {"ffn_gate", s.hidden, s.dim},
           {"ffn_down", s.dim, s.hidden},
           {"ffn_up", s.hidden, s.dim}}};
}

class Llama2cParser {
 public:
  Llama2cParser(std::span<const std::byte> file, const std::string& where) : file_(file), where_(where) {
    contents_.format = WeightFormat::llama2c;
    contents_.where = where;
  }

  WeightContents parse() {
    const bool marked = file_.size() >= 8 && at_byte<uint32_t>(file_, 0) == kLlama2cMark;
    const int32_t version = marked ? at_byte<int32_t>(file_, 4) : 0;
    if (!marked)
      version0();
    else if (version == 1 || version == 2)
      version12(version);
    else
      refuse(where_, 4, "the llama2.c file has version " + std::to_string(version), "version 0, 1 or 2");
    describe(version);
    sort_tensors(contents_);
    return std::move(contents_);
  }

 private:
  void version0() {
    if (file_.size() < kVersion0Header) refuse(where_, file_.size(), "the file is too short", "28 bytes of header");
    const std::string wrong = read_shape(file_, 0, shape_);
    if (!wrong.empty()) refuse(where_, 0, "this is no llama2.c file: " + wrong, "seven numbers of a model");
    check_size(version0_bytes(shape_));
    at_ = kVersion0Header;
    add("token_embd", shape_.vocab, shape_.dim);
    const auto parts = layer_parts(shape_);
    add_norms("attn_norm");
    for (size_t p = 0; p < 4; p++) add_layers(parts[p]);
    add_norms("ffn_norm");
    for (size_t p = 4; p < parts.size(); p++) add_layers(parts[p]);
    add_norm("output_norm");
    at_ += 4 * shape_.context * shape_.head();
    if (shape_.own_head) add("output", shape_.vocab, shape_.dim);
  }

  void version12(int32_t version) {
    if (file_.size() < kLlama2cHeader)
      refuse(where_, file_.size(), "the file is too short", std::to_string(kLlama2cHeader) + " bytes of header");
    const std::string wrong = read_shape(file_, 8, shape_);
    if (!wrong.empty() || shape_.own_head)
      refuse(where_, 8, "a number of the header is wrong: " + (wrong.empty() ? "vocab is negative" : wrong),
             "seven numbers of a model");
    const auto shared = at_byte<uint8_t>(file_, 36);
    if (shared > 1) refuse(where_, 36, "the mark of a shared head is " + std::to_string(shared), "0 or 1");
    shape_.own_head = shared == 0;
    uint64_t bytes = kLlama2cHeader + 4 * norm_values(shape_) + 4 * matrix_values(shape_);
    if (version == 2) {
      const auto group = at_byte<int32_t>(file_, 37);
      // Groups that cross the ends of rows would belong to two rows.
      if (group < 1 || shape_.dim % static_cast<uint64_t>(group) != 0 ||
          shape_.hidden % static_cast<uint64_t>(group) != 0)
        refuse(where_, 37, "the group size is " + std::to_string(group), "a divisor of dim and of hidden");
      group_ = static_cast<uint64_t>(group);
      bytes = kLlama2cHeader + 4 * norm_values(shape_) + matrix_values(shape_) + 4 * (matrix_values(shape_) / group_);
    }
    const size_t rest = version == 1 ? 37 : 41;
    for (size_t i = rest; i < kLlama2cHeader; i++)
      if (file_[i] != std::byte{0}) refuse(where_, i, "the header has a byte that means nothing", "zeros");
    check_size(bytes);
    at_ = kLlama2cHeader;
    add_norms("attn_norm");
    add_norms("ffn_norm");
    add_norm("output_norm");
    add("token_embd", shape_.vocab, shape_.dim);
    for (const Part& part : layer_parts(shape_)) add_layers(part);
    if (shape_.own_head) add("output", shape_.vocab, shape_.dim);
  }

  void check_size(uint64_t bytes) const {
    if (bytes != file_.size())
      refuse(where_, file_.size(), "the file has " + std::to_string(file_.size()) + " bytes",
             std::to_string(bytes) + " bytes for the sizes in its header");
  }

  static std::string in_layer(uint64_t layer, const char* name) { return "blk." + std::to_string(layer) + "." + name; }
  void add_norms(const char* name) {
    for (uint64_t i = 0; i < shape_.layers; i++) add_norm(in_layer(i, name));
  }
  void add_norm(const std::string& name) {
    const auto bytes = file_.subspan(at_, 4 * shape_.dim);
    at_ += bytes.size();
    contents_.tensors.push_back({name + ".weight", {shape_.dim}, StoredType::f32, bytes, {}, 0});
  }
  void add_layers(const Part& part) {
    for (uint64_t i = 0; i < shape_.layers; i++) add(in_layer(i, part.name), part.rows, part.cols);
  }
  void add(const std::string& name, uint64_t rows, uint64_t cols) {
    StoredTensor t{name + ".weight", {rows, cols}, StoredType::f32, {}, {}, 0};
    if (group_ == 0) {
      t.bytes = file_.subspan(at_, 4 * rows * cols);
    } else {
      t.type = StoredType::grouped_i8;
      t.group = group_;
      t.bytes = file_.subspan(at_, rows * cols);
      t.scales = file_.subspan(at_ + t.bytes.size(), 4 * (rows * cols / group_));
    }
    at_ += t.bytes.size() + t.scales.size();
    contents_.tensors.push_back(std::move(t));
  }

  // What llama2.c takes for granted stands here as well: the base of the rotation and the smallest norm.
  void describe(int32_t version) {
    contents_.metadata = {{"general.architecture", "llama"},
                          {"llama.embedding_length", shape_.dim},
                          {"llama.feed_forward_length", shape_.hidden},
                          {"llama.block_count", shape_.layers},
                          {"llama.attention.head_count", shape_.heads},
                          {"llama.attention.head_count_kv", shape_.kv_heads},
                          {"llama.attention.layer_norm_rms_epsilon", 1e-5},
                          {"llama.rope.dimension_count", shape_.head()},
                          {"llama.rope.freq_base", 10000.0},
                          {"llama.context_length", shape_.context},
                          {"llama.vocab_size", shape_.vocab},
                          {"llama2c.version", version}};
  }

  std::span<const std::byte> file_;
  const std::string& where_;
  Llama2cShape shape_;
  uint64_t group_ = 0;  // 0: all values are f32
  size_t at_ = 0;
  WeightContents contents_;
};

}  // namespace

bool is_llama2c(std::span<const std::byte> file) {
  if (file.size() < kVersion0Header) return false;
  if (at_byte<uint32_t>(file, 0) == kLlama2cMark) return true;
  Llama2cShape shape;
  return read_shape(file, 0, shape).empty() && version0_bytes(shape) == file.size();
}

std::string llama2c_size(std::span<const std::byte> file) {
  Llama2cShape shape;
  if (file.size() < kVersion0Header || !read_shape(file, 0, shape).empty()) return {};
  const uint64_t wanted = version0_bytes(shape);
  if (wanted == file.size()) return {};
  return "the file begins as a llama2.c file of " + std::to_string(wanted) + " bytes does, and has " +
         std::to_string(file.size());
}

WeightContents parse_llama2c(std::span<const std::byte> file, const std::string& where) {
  return Llama2cParser(file, where).parse();
}

}  // namespace glint
