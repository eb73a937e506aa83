#include "glint/model/glint_model.h"

#include <cmath>

#include "glint/base/sha256.h"
#include "glint/io/weight_contents.h"
#include "glint/nn/norm.h"

namespace glint {
namespace {

// What the file of a model in memory keeps alive.
struct HeldModel {
  WeightContents contents;
  std::shared_ptr<const LanguageModel> model;
};

}  // namespace

FamilyConfig family_config(const TransformerConfig& t) {
  FamilyConfig c;
  c.family = &glint_family();
  c.layers = t.layers, c.d_model = t.d_model, c.d_hidden = t.hidden();
  c.heads = c.kv_heads = t.heads, c.head_dim = c.rotary_dims = t.head_dim();
  c.vocab = t.vocab, c.context = t.context, c.gate = t.gate;
  c.eps = kNormEps;
  c.windows.resize(t.layers);
  c.attention_scale = 1 / std::sqrt(static_cast<double>(t.head_dim()));
  c.attention_factor = 1 / std::sqrt(2.0 * static_cast<double>(t.layers));
  return c;
}

FamilyModel glint_model(std::shared_ptr<const LanguageModel> model, const std::string& where) {
  const auto held = std::make_shared<HeldModel>(HeldModel{{}, std::move(model)});
  const LanguageModel& m = *held->model;
  const ParamTable table = transformer_params(m.config).table;
  table.check_buffer(m.weights.span(), "weights");
  held->contents.where = where;
  held->contents.metadata = config_to_json(m.config);
  for (const ParamSpec& s : table.specs()) {
    StoredTensor t;
    t.name = s.name, t.shape = {s.rows, s.cols};
    t.bytes = std::as_bytes(m.weights.span().subspan(s.offset, s.size()));
    held->contents.tensors.push_back(std::move(t));
  }
  sort_tensors(held->contents);
  const FamilyConfig config = family_config(m.config);
  FamilyModel out(WeightFile(std::shared_ptr<const WeightContents>(held, &held->contents)), config);
  out.set_hash(sha256_hex(std::as_bytes(m.weights.span())));
  return out;
}

}  // namespace glint
