#include "glint/lab/models/model_info.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/text.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run.h"

namespace glint {
namespace {

std::string rotary_words(const FamilyConfig& c) {
  std::string text = "base " + number_text(c.theta);
  if (c.local_theta > 0) text += " (" + number_text(c.local_theta) + " in layers with a window)";
  if (c.rotary_dims != c.head_dim)
    text += ", " + std::to_string(c.rotary_dims) + " of " + std::to_string(c.head_dim) + " numbers of a head";
  if (c.scaling.kind == RotaryScaling::Kind::linear) text += ", slowed by " + number_text(c.scaling.factor);
  const RotaryScaling& s = c.scaling;
  if (s.kind == RotaryScaling::Kind::yarn)
    text += ", yarn: long waves slowed by " + number_text(s.factor);
  else if (s.kind == RotaryScaling::Kind::longrope)
    text += ", longrope: the factors for texts of up to " + number_text(s.original) + " tokens";
  else if (s.kind == RotaryScaling::Kind::llama3 || !s.divisors.empty())
    text += ", long waves slowed";
  return text + (c.adjacent ? ", adjacent pairs" : ", pairs by halves");
}

std::string norm_words(const FamilyModel& model) {
  const FamilyNorm kind = model.config().family->norm;
  std::string text = kind == FamilyNorm::rms ? "RMS" : "layer norms";
  if (model.config().family->plain_norms) text += " without weights";
  const FamilyLayer& l = model.layers().front();
  const bool before = l.before_attention.used, after = l.after_glu.used;
  text += before && after ? ", before and after each part" : after ? ", after each part" : ", before each part";
  if (!l.q_norm.empty()) text += ", of queries and keys too";
  if (model.config().parallel) text += ", attention and GLU side by side";
  return text;
}

std::string attention_words(const FamilyConfig& c) {
  std::string text =
      std::to_string(c.heads) + (c.heads == 1 ? " head" : " heads") + " of " + std::to_string(c.head_dim);
  if (c.kv_heads != c.heads) text += ", " + std::to_string(c.kv_heads) + " for keys and values";
  const auto windowed = std::ranges::count_if(c.windows, [](size_t w) { return w > 0; });
  if (windowed > 0)
    text += ", " + std::to_string(windowed) + " of " + std::to_string(c.layers) + " layers look back " +
            std::to_string(*std::ranges::max_element(c.windows)) + " tokens";
  if (c.attention_cap > 0) text += ", scores capped at " + number_text(c.attention_cap);
  return text;
}

std::string expert_words(const FamilyConfig& c) {
  if (c.experts == 0) return "";
  return std::to_string(c.experts) + " per layer, " + std::to_string(c.experts_per_token) + " of them per token, " +
         std::to_string(c.d_expert) + " hidden units each" +
         (c.family->names.shared_gate.hf.empty() ? "" : "; one more for all tokens (shared)");
}

ModelInfo foreign_info(const LanguageRun& run) {
  run.note_tokenizer();
  const FamilyModel& m = run.model();
  const FamilyConfig& c = m.config();
  ModelInfo r;
  r.path = run.directory(), r.format = name(m.file().format()), r.family = c.family->title;
  r.gate = gate_info(c.gate.kind).text.name;
  r.layers = c.layers, r.d_model = c.d_model, r.d_hidden = c.d_hidden;
  r.heads = c.heads, r.kv_heads = c.kv_heads, r.head_dim = c.head_dim;
  r.vocab = m.vocab(), r.context = c.context, r.window = m.window();
  r.rotary = rotary_words(c), r.norms = norm_words(m), r.attention = attention_words(c);
  r.experts = expert_words(c);
  r.tied = m.tied();
  r.parameters = m.parameters(), r.precision = m.precision();
  r.file_bytes = m.file().file_bytes(), r.cache_bytes = FamilyPass::cache_bytes(m, r.window);
  r.parts = m.parts();
  const bool has = run.has_tokenizer();
  if (has)
    r.tokenizer =
        std::string(name(run.tokenizer().format())) + ", " + std::to_string(run.tokenizer().size()) + " tokens";
  r.config = family_json(m);
  const bool runs = has && !m.mixture();
  r.verbs = {{"eval", "loss on a text", runs},
             {"generate", "text from a prompt", runs},
             {"spectrum", "eigenvectors of a layer's GLU", has || m.mixture()},
             {"explain", "why this next token", runs},
             {"ablate", "removing eigenvectors", runs},
             {"readability", "measures of readings", runs},
             {"neurons", "classes of neurons", !m.mixture()},
             {"compare", "eigenvectors of two models", runs},
             {"page", "the explorer", runs},
             {"export", "arrays, or a folder of Hugging Face", true}};
  return r;
}

ModelInfo own_info(const Run& run) {
  ModelInfo r;
  r.path = run.directory(), r.format = "run";
  r.gate = gate_info(run.gate()).text.name;
  r.precision = "F32";
  r.config = run.config();
  const auto add = [&](const ParamTable& table) {
    for (const ParamSpec& p : table.specs()) r.parts.push_back({p.name, p.size(), p.size() * sizeof(float)});
    r.parameters = table.parameters();
  };
  if (run.kind() == ModelKind::image) {
    const ClassifierConfig& c = run.image().model().config;
    r.family = "glint classifier";
    r.layers = c.layers, r.d_model = c.d_model, r.d_hidden = c.hidden();
    add(classifier_params(c).table);
    for (const char* verb :
         {"eval", "spectrum", "explain", "attack", "ablate", "readability", "compare", "page", "export"})
      r.verbs.push_back({verb, ""});
  } else {
    const LanguageRun& language = run.language();
    const TransformerConfig& c = language.own().config;
    r.family = "glint transformer";
    r.layers = c.layers, r.d_model = c.d_model, r.d_hidden = c.hidden();
    r.heads = r.kv_heads = c.heads, r.head_dim = c.head_dim();
    r.vocab = c.vocab, r.context = r.window = c.context;
    add(transformer_params(c).table);
    r.tokenizer = std::string(name(language.tokenizer().format())) + ", " +
                  std::to_string(language.tokenizer().size()) + " tokens";
    for (const char* verb :
         {"eval", "generate", "spectrum", "explain", "neurons", "ablate", "readability", "compare", "page", "export"})
      r.verbs.push_back({verb, ""});
  }
  std::error_code ignored;
  r.file_bytes = std::filesystem::file_size(run.directory() + "/model.safetensors", ignored);
  if (ignored) r.file_bytes = 0;
  return r;
}

}  // namespace

Json family_json(const FamilyModel& model) {
  const FamilyConfig& c = model.config();
  return {{"family", c.family->name}, {"layers", c.layers},
          {"d_model", c.d_model},     {"d_hidden", c.d_hidden},
          {"heads", c.heads},         {"kv_heads", c.kv_heads},
          {"head_dim", c.head_dim},   {"vocab", model.vocab()},
          {"context", c.context},     {"gate", gate_info(c.gate.kind).text.name}};
}

ModelInfo model_info(const Engine& engine, const ModelInfoRequest& q) {
  const std::unique_ptr<Run> run = open_run(engine, {.run = q.path, .tokenizer = q.tokenizer});
  const bool foreign = run->kind() == ModelKind::language && run->language().foreign();
  return foreign ? foreign_info(run->language()) : own_info(*run);
}

OrderedJson to_json(const ModelInfo& r) {
  OrderedJson j = {{"schema", "glint-model/1"},
                   {"path", r.path},
                   {"format", r.format},
                   {"family", r.family},
                   {"model", OrderedJson(r.config)},
                   {"parameters", r.parameters},
                   {"precision", r.precision},
                   {"file_bytes", r.file_bytes},
                   {"cache_bytes", r.cache_bytes},
                   {"window", r.window},
                   {"tied", r.tied},
                   {"experts", r.experts.empty() ? OrderedJson(nullptr) : OrderedJson(r.experts)},
                   {"tokenizer", r.tokenizer.empty() ? OrderedJson(nullptr) : OrderedJson(r.tokenizer)}};
  j["parts"] = OrderedJson::array();
  for (const FamilyModel::Part& p : r.parts)
    j["parts"].push_back({{"name", p.name}, {"parameters", p.parameters}, {"bytes", p.bytes}});
  j["verbs"] = OrderedJson::array();
  for (const ModelInfo::Verb& v : r.verbs) j["verbs"].push_back({{"verb", v.verb}, {"can", v.can}});
  return j;
}

}  // namespace glint
