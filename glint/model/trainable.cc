#include "glint/model/trainable.h"

#include <cmath>

#include "glint/base/error.h"
#include "glint/io/weight_contents.h"

namespace glint {
namespace {

// What stands in the way, or "".
std::string obstacle(const FamilyModel& model) {
  const FamilyConfig& c = model.config();
  const Family& f = *c.family;
  const FamilyLayer& l = model.layers().front();
  const auto close = [](double a, double b) { return std::fabs(a - b) <= 1e-6 * b; };
  if (model.mixture()) return "experts";
  if (f.norm != FamilyNorm::rms) return "layer norms";
  if (f.head_norm == HeadNorm::all) return "norms of all queries together";
  if (l.after_attention.used || l.after_glu.used) return "norms after attention and GLU";
  if (c.parallel) return "attention and GLU side by side";
  if (c.embedding_scale != 1) return "embeddings that are multiplied";
  if (c.attention_cap > 0 || c.logit_cap > 0) return "capped scores or logits";
  if (c.rotary_dims != c.head_dim) return "heads that turn in part";
  if (c.local_theta > 0) return "two kinds of positions";
  if (!rotary_scaling_text(c.scaling)) return "this scaling of positions";
  if (!close(c.attention_scale, 1 / std::sqrt(static_cast<double>(c.head_dim)))) return "scores of another scale";
  const double damped = 1 / std::sqrt(2.0 * static_cast<double>(c.layers));
  if (c.attention_factor != 1 && !close(c.attention_factor, damped)) return "attention that is multiplied";
  for (size_t i = 0; i < c.layers; i++) {
    if (c.windows[i] > 0 && c.windows[i] < c.context) return "layers that look back only so far";
    const FamilyLayer& one = model.layers()[i];
    if (!one.o.bias.empty() || !one.gate.bias.empty() || !one.up.bias.empty() || !one.down.bias.empty())
      return "biases other than those of queries, keys and values";
  }
  return "";
}

// Row j of a head among those that are stored.
size_t stored_row(bool adjacent, size_t head_dim, size_t j) {
  const size_t half = head_dim / 2;
  return !adjacent ? j : j < half ? 2 * j : 2 * (j - half) + 1;
}

void widen_heads(const StoredMatrix& m, bool adjacent, size_t head_dim, MatrixView<float> out) {
  if (!adjacent) return widen_rows(m, 0, out);
  for (size_t i = 0; i < m.rows; i++)
    widen_rows(m, i / head_dim * head_dim + stored_row(true, head_dim, i % head_dim), out.row_range(i, 1));
}

void copy_heads(const std::vector<float>& from, bool adjacent, size_t head_dim, std::span<float> out) {
  for (size_t i = 0; i < from.size(); i++)
    out[i] = from[i / head_dim * head_dim + stored_row(adjacent, head_dim, i % head_dim)];
}

}  // namespace

TransformerConfig trainable_config(const FamilyModel& model, size_t context) {
  const FamilyConfig& c = model.config();
  if (const std::string why = obstacle(model); !why.empty())
    throw Error(
        {.code = ErrorCode::usage,
         .what = "a " + std::string(c.family->title) + " with " + why + " cannot be trained",
         .where = model.file().where(),
         .expected = "the shape of Llama: Llama, Mistral without windows, Qwen2, Qwen3, SmolLM, or glint's own"});
  TransformerConfig t{.vocab = model.vocab(),
                      .layers = c.layers,
                      .d_model = c.d_model,
                      .d_hidden = c.d_hidden,
                      .heads = c.heads,
                      .context = context ? std::min(context, model.window()) : model.window(),
                      .gate = c.gate};
  const FamilyLayer& l = model.layers().front();
  LlamaShape& s = t.shape;
  if (c.kv_heads != c.heads) s.kv_heads = c.kv_heads;
  if (c.head_dim * c.heads != c.d_model) s.d_head = c.head_dim;
  s.norm_weights = !l.before_attention.weight.empty();
  s.tied_head = model.tied();
  for (const FamilyLayer& one : model.layers())
    s.qkv_bias = s.qkv_bias || !one.q.bias.empty() || !one.k.bias.empty() || !one.v.bias.empty();
  s.head_norms = !l.q_norm.empty();
  s.damped = c.attention_factor != 1;
  s.norm_eps = c.eps;
  s.theta = c.theta;
  s.rotary_scaling = *rotary_scaling_text(c.scaling);
  check(t);
  return t;
}

Matrix<float> trainable_weights(const FamilyModel& model, const TransformerConfig& config) {
  const TransformerParams p = transformer_params(config);
  const FamilyConfig& c = model.config();
  Matrix<float> weights(1, p.table.floats());
  const auto view = [&](size_t i) { return p.table.view(weights.span(), i); };
  const auto put = [&](size_t i, const std::vector<float>& values) {
    if (i != kNoParam) std::ranges::copy(values, view(i).data());
  };
  const size_t n = c.head_dim, q = c.heads * n, kv = c.kv_heads * n, h = c.d_hidden;
  widen_rows(model.embedding(), 0, view(p.wte));
  for (size_t i = 0; i < c.layers; i++) {
    const FamilyLayer& l = model.layer(i);
    const TransformerParams::Block& b = p.blocks[i];
    widen_heads(l.q, c.adjacent, n, view(b.qkv).row_range(0, q));
    widen_heads(l.k, c.adjacent, n, view(b.qkv).row_range(q, kv));
    widen_rows(l.v, 0, view(b.qkv).row_range(q + kv, kv));
    widen_rows(l.o, 0, view(b.o));
    widen_rows(l.gate, 0, view(b.mlp_w).row_range(0, h));
    widen_rows(l.up, 0, view(b.mlp_w).row_range(h, h));
    widen_rows(l.down, 0, view(b.mlp_p));
    put(b.attention_norm, l.before_attention.weight);
    put(b.mlp_norm, l.before_glu.weight);
    if (b.qkv_bias != kNoParam) {
      const std::span<float> bias = view(b.qkv_bias).row(0);
      copy_heads(l.q.bias, c.adjacent, n, bias.first(q));
      copy_heads(l.k.bias, c.adjacent, n, bias.subspan(q, kv));
      std::ranges::copy(l.v.bias, bias.subspan(q + kv).begin());
    }
    if (b.q_norm == kNoParam) continue;
    copy_heads(l.q_norm, c.adjacent, n, view(b.q_norm).row(0));
    copy_heads(l.k_norm, c.adjacent, n, view(b.k_norm).row(0));
  }
  put(p.norm, model.final_norm().weight);
  if (!p.tied()) widen_rows(model.head(), 0, view(p.head));
  return weights;
}

const Family* family_of(const TransformerConfig& c) {
  const LlamaShape& s = c.shape;
  if (!s.norm_weights || s.damped || (s.qkv_bias && s.head_norms)) return nullptr;
  return find_family_hf(s.head_norms ? "qwen3" : s.qkv_bias ? "qwen2" : "llama");
}

namespace {

// What the file of a model in memory keeps alive.
struct HeldFamily {
  WeightContents contents;
  std::shared_ptr<const LanguageModel> model;
};

}  // namespace

FamilyModel family_model(std::shared_ptr<const LanguageModel> model, const std::string& where) {
  const auto held = std::make_shared<HeldFamily>(HeldFamily{{}, std::move(model)});
  const LanguageModel& m = *held->model;
  const TransformerConfig& t = m.config;
  const TransformerParams p = transformer_params(t);
  FamilyConfig c = family_config(t);
  c.family = family_of(t);
  check_argument(c.family != nullptr, "family_model", "a model whose shape a family has");
  const FamilyNames& n = c.family->names;
  held->contents.where = where;
  held->contents.format = WeightFormat::gguf;
  const auto add = [&](const std::string& name, size_t param, size_t first = 0, size_t rows = 0) {
    const ParamSpec& s = p.table[param];
    StoredTensor tensor;
    tensor.name = name;
    if (rows == 0) rows = s.vector ? s.cols : s.rows;
    tensor.shape = s.vector ? std::vector<size_t>{rows} : std::vector<size_t>{rows, s.cols};
    const size_t width = s.vector ? 1 : s.cols;
    tensor.bytes = std::as_bytes(m.weights.span().subspan(s.offset + first * width, rows * width));
    held->contents.tensors.push_back(std::move(tensor));
  };
  const auto global = [](const TensorName& name) { return std::string(name.gguf) + ".weight"; };
  const size_t q = t.attention_width(), kv = t.keys() * t.head_dim(), h = t.hidden();
  add(global(n.embedding), p.wte);
  add(global(n.final_norm), p.norm);
  if (!p.tied()) add(global(n.head), p.head);
  for (size_t i = 0; i < t.layers; i++) {
    const TransformerParams::Block& b = p.blocks[i];
    const auto at = [&](const TensorName& name, const char* end = ".weight") {
      return "blk." + std::to_string(i) + "." + std::string(name.gguf) + end;
    };
    for (const auto& [name, first, rows] : {std::tuple(n.q, size_t{0}, q), {n.k, q, kv}, {n.v, q + kv, kv}}) {
      add(at(name), b.qkv, first, rows);
      if (b.qkv_bias != kNoParam) add(at(name, ".bias"), b.qkv_bias, first, rows);
    }
    add(at(n.o), b.o);
    add(at(n.gate), b.mlp_w, 0, h);
    add(at(n.up), b.mlp_w, h, h);
    add(at(n.down), b.mlp_p);
    add(at(n.before_attention), b.attention_norm);
    add(at(n.before_glu), b.mlp_norm);
    if (b.q_norm == kNoParam) continue;
    add(at(n.q_norm), b.q_norm);
    add(at(n.k_norm), b.k_norm);
  }
  sort_tensors(held->contents);
  return FamilyModel(WeightFile(std::shared_ptr<const WeightContents>(held, &held->contents)), c);
}

}  // namespace glint
