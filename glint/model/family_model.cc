#include "glint/model/family_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "glint/base/error.h"
#include "glint/io/tensor.h"

namespace glint {
namespace {

// What may stand before the names of Hugging Face.
constexpr std::string_view kPrefixes[] = {"model.", "", "language_model.model.", "model.language_model.",
                                          "transformer."};

// Parts of names of tensors that change nothing in a forward pass: tables that are computed anew (of turns,
// of masks), factors that read_rotary_gguf takes, and the parts of a model that look at pictures.
constexpr std::string_view kHarmlessTensors[] = {
    "rotary_emb.inv_freq", "rotary_emb.cos_cached",  "rotary_emb.sin_cached", "attn_rot_embd",
    ".masked_bias",        "self_attn.bias",         "attention.bias",        "rope_freqs.weight",
    "rope_factors_",       "multi_modal_projector.", "vision_tower.",         "vision_model."};

// Finds the tensors of one file by the names of its format, and remembers which it gave.
class Finder {
 public:
  Finder(const WeightFile& file, const FamilyConfig& config)
      : file_(file), config_(config), hf_(file.format() == WeightFormat::safetensors) {
    if (!hf_) return;
    for (const std::string_view prefix : kPrefixes)
      if (file_.find(std::string(prefix) + std::string(config.family->block) + "0." +
                     std::string(config.family->names.o.hf) + ".weight")) {
        prefix_ = prefix;
        return;
      }
  }

  std::string global(const TensorName& name) const {
    if (!hf_) return std::string(name.gguf);
    if (name.hf != "lm_head") return prefix_ + std::string(name.hf);
    const std::string_view above = prefix_ == "language_model.model." ? "language_model." : "";
    return std::string(above) + std::string(name.hf);
  }
  std::string in_block(const TensorName& name, size_t layer) const {
    const std::string number = std::to_string(layer) + ".";
    return hf_ ? prefix_ + std::string(config_.family->block) + number + std::string(name.hf)
               : "blk." + number + std::string(name.gguf);
  }
  size_t rows(const std::string& name) const {
    const StoredTensor& t = take(name + ".weight");
    return t.shape.empty() ? 0 : t.shape[0];
  }
  const StoredTensor& take(const std::string& name) const {
    const StoredTensor& t = file_.at(name);
    taken_.insert(t.name);
    return t;
  }
  bool has(const std::string& name) const { return file_.find(name + ".weight") != nullptr; }

  // A norm of glint's own models, which may have weights or not: the file decides.
  bool stored(const std::string& norm) const { return config_.family == &glint_family() && has(norm); }

  // One expert of a layer, by its number.
  StoredMatrix expert(const TensorName& name, size_t layer, size_t number, size_t rows, size_t cols) const {
    std::string full = in_block(name, layer);
    if (hf_) return matrix(full.replace(full.find('#'), 1, std::to_string(number)), rows, cols);
    const StoredTensor& t = take(full + ".weight");
    if (t.shape != std::vector<size_t>{config_.experts, rows, cols})
      refuse_shape(t, show_shape(std::vector<size_t>{config_.experts, rows, cols}));
    return {.tensor = &t, .first = number * rows, .rows = rows, .cols = cols};
  }

  // Rows [first, first + rows) of a tensor [all, cols]; its bias where the family has any.
  StoredMatrix matrix(const std::string& name, size_t rows, size_t cols, size_t first = 0, size_t all = 0) const {
    const StoredTensor& t = take(name + ".weight");
    if (all == 0) all = rows;
    if (t.shape.size() != 2 || t.shape[0] != all || t.shape[1] != cols)
      refuse_shape(t, std::to_string(all) + " x " + std::to_string(cols));
    StoredMatrix m{.tensor = &t, .first = first, .rows = rows, .cols = cols};
    if (file_.find(name + ".bias")) {
      if (!config_.family->biases)
        throw Error({.code = ErrorCode::bad_file,
                     .what = std::string(config_.family->title) + " with a bias is not supported",
                     .where = file_.where() + ", " + name + ".bias",
                     .expected = "no such tensor in this family"});
      m.bias = vector(name + ".bias", all);
      m.bias = {m.bias.begin() + static_cast<std::ptrdiff_t>(first),
                m.bias.begin() + static_cast<std::ptrdiff_t>(first + rows)};
    }
    return m;
  }

  std::vector<float> vector(const std::string& name, size_t size, float add = 0) const {
    const StoredTensor& t = take(name);
    if (t.values() != size || (t.shape.size() != 1 && t.shape.back() != size)) refuse_shape(t, std::to_string(size));
    if (!sound_values(t, 0, t.values())) refuse_values(file_.where() + ", " + t.name);
    std::vector<float> out(size);
    widen(t, 0, out);
    for (float& v : out) v += add;
    return out;
  }

  // A norm of `size` numbers, with its "1 +" where the format leaves that out.
  std::vector<float> norm_weight(const std::string& name, size_t size) const {
    return vector(name + ".weight", size, hf_ && config_.family->one_plus ? 1 : 0);
  }
  NormWeights norm(const TensorName& name, const std::string& full) const {
    NormWeights n;
    if (config_.family->plain_norms && !stored(full)) {
      n.used = true;
      return n;
    }
    if ((hf_ ? name.hf : name.gguf).empty()) return n;
    n.used = true;
    n.weight = norm_weight(full, config_.d_model);
    if (file_.find(full + ".bias")) {
      if (config_.family->norm != FamilyNorm::layer)
        throw Error({.code = ErrorCode::bad_file,
                     .what = std::string(config_.family->title) + " with a bias of a norm is not supported",
                     .where = file_.where() + ", " + full + ".bias",
                     .expected = "no such tensor in this family"});
      n.bias = vector(full + ".bias", config_.d_model);
    }
    return n;
  }

  // Whatever nobody asked for must be harmless: the model would not be run as it was made.
  void no_others() const {
    for (const StoredTensor& t : file_.tensors()) check_known(t.name);
    for (const UnreadableTensor& t : file_.unreadable()) check_known(t.name);
  }

 private:
  void check_known(const std::string& name) const {
    if (taken_.contains(name) || std::ranges::any_of(kHarmlessTensors, [&](std::string_view part) {
          return name.find(part) != std::string::npos;
        }))
      return;
    throw Error({.code = ErrorCode::bad_file,
                 .what = std::string(config_.family->title) + " with this tensor is not supported",
                 .where = file_.where() + ", " + name,
                 .expected = "only tensors that the family has, in as many layers as the configuration says: "
                             "glint cannot tell what this one changes"});
  }
  [[noreturn]] void refuse_shape(const StoredTensor& t, const std::string& expected) const {
    throw Error({.code = ErrorCode::bad_file,
                 .what = "a tensor has the shape " + show_shape(t.shape),
                 .where = file_.where() + ", " + t.name,
                 .expected = expected + ", as the configuration says"});
  }
  const WeightFile& file_;
  const FamilyConfig& config_;
  bool hf_;
  std::string prefix_ = "model.";
  mutable std::set<std::string> taken_;
};

// Layers without a GLU of their own have experts.
void find_experts(const Finder& find, const FamilyConfig& c, size_t i, FamilyLayer& l) {
  const FamilyNames& n = c.family->names;
  const size_t d = c.d_model, h = c.d_expert;
  l.router = find.matrix(find.in_block(n.router, i), c.experts, d);
  for (size_t e = 0; e < c.experts; e++)
    l.experts.push_back({find.expert(n.expert_gate, i, e, h, d), find.expert(n.expert_up, i, e, h, d),
                         find.expert(n.expert_down, i, e, d, h)});
  if (n.shared_gate.hf.empty()) return;
  const size_t all = c.d_shared > 0 ? c.d_shared : find.rows(find.in_block(n.shared_gate, i));
  l.shared = {find.matrix(find.in_block(n.shared_gate, i), all, d), find.matrix(find.in_block(n.shared_up, i), all, d),
              find.matrix(find.in_block(n.shared_down, i), d, all)};
  if (const std::string gate = find.in_block(n.shared_router, i); find.has(gate)) find.take(gate + ".weight");
}

FamilyLayer find_layer(const Finder& find, const FamilyConfig& c, size_t i) {
  const FamilyNames& n = c.family->names;
  const auto at = [&](const TensorName& name) { return find.in_block(name, i); };
  const size_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim, d = c.d_model, h = c.d_hidden;
  FamilyLayer l;
  l.before_attention = find.norm(n.before_attention, at(n.before_attention));
  if (!n.after_attention.hf.empty()) l.after_attention = find.norm(n.after_attention, at(n.after_attention));
  if (!c.parallel) l.before_glu = find.norm(n.before_glu, at(n.before_glu));
  if (!n.after_glu.hf.empty()) l.after_glu = find.norm(n.after_glu, at(n.after_glu));
  if (!n.qkv.hf.empty() && find.has(at(n.qkv))) {
    l.q = find.matrix(at(n.qkv), q, d, 0, q + 2 * kv);
    l.k = find.matrix(at(n.qkv), kv, d, q, q + 2 * kv);
    l.v = find.matrix(at(n.qkv), kv, d, q + kv, q + 2 * kv);
  } else {
    l.q = find.matrix(at(n.q), q, d);
    l.k = find.matrix(at(n.k), kv, d);
    l.v = find.matrix(at(n.v), kv, d);
  }
  l.o = find.matrix(at(n.o), d, q);
  if (c.family->head_norm != HeadNorm::none || find.stored(at(n.q_norm))) {
    const bool all = c.family->head_norm == HeadNorm::all;
    l.q_norm = find.norm_weight(at(n.q_norm), all ? q : c.head_dim);
    l.k_norm = find.norm_weight(at(n.k_norm), all ? kv : c.head_dim);
  }
  if (c.experts > 0 && !find.has(at(n.gate))) {
    find_experts(find, c, i, l);
    return l;
  }
  if (!n.gate_up.hf.empty() && !find.has(at(n.gate))) {
    l.gate = find.matrix(at(n.gate_up), h, d, 0, 2 * h);
    l.up = find.matrix(at(n.gate_up), h, d, h, 2 * h);
  } else {
    l.gate = find.matrix(at(n.gate), h, d);
    l.up = find.matrix(at(n.up), h, d);
  }
  l.down = find.matrix(at(n.down), d, h);
  return l;
}

// Rows of a tensor [rows, d], whatever their number: the vocabulary.
StoredMatrix vocabulary(const WeightFile& file, const Finder& find, const std::string& name, size_t d) {
  const StoredTensor& t = file.at(name + ".weight");
  const size_t rows = t.shape.size() == 2 ? t.shape[0] : 0;
  if (rows > kMaxVocab)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "a vocabulary of " + std::to_string(rows) + " tokens",
                 .where = file.where() + ", " + t.name,
                 .expected = "at most " + std::to_string(kMaxVocab)});
  return find.matrix(name, rows, d);
}

}  // namespace

FamilyModel::FamilyModel(WeightFile file) : FamilyModel(file, family_config(file)) {}

FamilyModel::FamilyModel(WeightFile file, FamilyConfig config) : file_(std::move(file)), config_(std::move(config)) {
  const Finder find(file_, config_);
  const FamilyNames& n = config_.family->names;
  for (const StoredTensor& t : file_.tensors())
    if (!mixture() && (t.name.find("experts") != std::string::npos || t.name.find("_exps") != std::string::npos))
      throw Error({.code = ErrorCode::bad_file,
                   .what = "the file has experts, the configuration has none",
                   .where = file_.where() + ", " + t.name,
                   .expected = "a dense " + std::string(config_.family->title)});
  // Tied or not: the tensors decide. Either of the two may be all there is.
  const std::string e = find.global(n.embedding), h = find.global(n.head);
  tied_ = !find.has(e) || !find.has(h);
  embedding_ = vocabulary(file_, find, find.has(e) ? e : h, config_.d_model);
  head_ = tied_ ? embedding_ : vocabulary(file_, find, h, config_.d_model);
  if (head_.rows != embedding_.rows)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the head has " + std::to_string(head_.rows) + " tokens, the embedding " +
                         std::to_string(embedding_.rows),
                 .where = file_.where() + ", " + head_.tensor->name,
                 .expected = "the same vocabulary"});
  if (config_.vocab > embedding_.rows)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the embedding has " + std::to_string(embedding_.rows) + " tokens",
                 .where = file_.where() + ", " + embedding_.tensor->name,
                 .expected = std::to_string(config_.vocab) + ", as the configuration says, or more"});
  final_norm_ = find.norm(n.final_norm, find.global(n.final_norm));
  for (size_t i = 0; i < config_.layers; i++) layers_.push_back(find_layer(find, config_, i));
  find.no_others();
  checked_ = std::make_unique<std::atomic<bool>[]>(file_.tensors().size());
}

void FamilyModel::check_numbers(ThreadPool& pool) const {
  for (const StoredTensor& t : file_.tensors()) check_numbers(StoredMatrix{.tensor = &t}, pool);
}

void FamilyModel::check_numbers(const StoredMatrix& matrix, ThreadPool& pool) const {
  if (prepare_ || !hash_.empty()) return;  // drawn by glint, or looked at when they were loaded
  const StoredTensor& t = *matrix.tensor;
  std::atomic<bool>& checked = checked_[static_cast<size_t>(&t - file_.tensors().data())];
  if (checked) return;
  constexpr size_t kTile = size_t{1} << 18;  // values: whole blocks of any type
  const size_t values = t.values();
  std::atomic<bool> sound = true;
  pool.for_tiles((values + kTile - 1) / kTile, [&](size_t tile, size_t) {
    const size_t first = tile * kTile;
    if (!sound_values(t, first, std::min(kTile, values - first))) sound = false;
  });
  if (!sound) refuse_values(file_.where() + ", " + t.name);
  checked = true;
}

std::vector<FamilyModel::Part> FamilyModel::parts() const {
  std::map<const StoredTensor*, std::string> part_of;
  for (const FamilyLayer& l : layers_) {
    for (const StoredMatrix* m : {&l.q, &l.k, &l.v, &l.o}) part_of[m->tensor] = "attention";
    for (const StoredMatrix* m : {&l.gate, &l.up, &l.down}) part_of[m->tensor] = "GLU";
    for (const StoredGlu& e : l.experts)
      for (const StoredMatrix* m : {&e.gate, &e.up, &e.down}) part_of[m->tensor] = "experts";
    for (const StoredMatrix* m : {&l.shared.gate, &l.shared.up, &l.shared.down}) part_of[m->tensor] = "shared experts";
    part_of[l.router.tensor] = "routers";
  }
  part_of[embedding_.tensor] = tied_ ? "embedding and head" : "embedding";
  if (!tied_) part_of[head_.tensor] = "head";
  std::vector<Part> parts;
  for (const char* name : {"embedding and head", "embedding", "attention", "GLU", "experts", "shared experts",
                           "routers", "head", "norms and biases"})
    parts.push_back({.name = name});
  for (const StoredTensor& t : file_.tensors()) {
    const auto it = part_of.find(&t);
    const std::string name = it == part_of.end() ? "norms and biases" : it->second;
    Part& part = *std::ranges::find(parts, name, &Part::name);
    part.parameters += t.values();
    part.bytes += t.bytes.size() + t.scales.size();
  }
  std::erase_if(parts, [](const Part& p) { return p.parameters == 0; });
  return parts;
}

uint64_t FamilyModel::parameters() const {
  uint64_t sum = 0;
  for (const Part& p : parts()) sum += p.parameters;
  return sum;
}

std::string FamilyModel::precision() const {
  std::map<std::string, uint64_t> values;
  for (const StoredTensor& t : file_.tensors()) values[name(t.type)] += t.values();
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [type, count] : values) order.emplace_back(count, type);
  std::ranges::sort(order, std::greater<>());
  std::string text;
  for (size_t i = 0; i < order.size(); i++) text += (i == 0 ? "" : i == 1 ? " with " : ", ") + order[i].second;
  return text;
}

std::string FamilyModel::text() const {
  const FamilyConfig& c = config_;
  const bool own = c.family == &glint_family();
  const size_t hidden = mixture() ? c.d_expert : c.d_hidden;
  return (own ? "" : std::string(c.family->title) + ", ") + std::string(gate_info(c.gate.kind).text.name) + ", " +
         std::to_string(c.layers) + (c.layers == 1 ? " layer" : " layers") +
         (mixture() ? " of " + std::to_string(c.experts) + " experts" : "") + ", width " + std::to_string(c.d_model) +
         (own && hidden == c.d_model ? "" : " and " + std::to_string(hidden)) + ", " + std::to_string(vocab()) +
         " tokens, " + std::to_string(parameters()) + " parameters";
}

}  // namespace glint
