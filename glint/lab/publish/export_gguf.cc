// A language model in the shape of a family as a GGUF file, which llama.cpp opens.
#include <algorithm>

#include "glint/base/error.h"
#include "glint/io/gguf_write.h"
#include "glint/io/weight_contents.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/publish/export_parts.h"
#include "glint/model/trainable.h"

namespace glint {
namespace {

// Rows of a head as GGUF stores those of Llama: pairs that turn stand side by side.
std::vector<float> adjacent_rows(const StoredTensor& t, size_t head_dim) {
  const size_t cols = t.shape.size() == 2 ? t.shape[1] : 1, half = head_dim / 2;
  std::vector<float> from(t.values()), out(t.values());
  widen(t, 0, from);
  for (size_t row = 0; row < from.size() / cols; row++) {
    const size_t in_head = row % head_dim;
    const size_t source = row - in_head + (in_head % 2 == 0 ? in_head / 2 : half + in_head / 2);
    std::copy_n(from.data() + source * cols, cols, out.data() + row * cols);
  }
  return out;
}

GgufHeader header_of(const FamilyModel& model, const std::string& name) {
  const FamilyConfig& c = model.config();
  const std::string family(c.family->gguf);
  GgufHeader header;
  header.add("general.architecture", family);
  header.add("general.name", name);
  const auto number = [&](const char* key, size_t value) {
    header.add(family + "." + key, static_cast<uint32_t>(value));
  };
  number("vocab_size", model.vocab());
  number("context_length", c.context);
  number("embedding_length", c.d_model);
  number("block_count", c.layers);
  number("feed_forward_length", c.d_hidden);
  number("attention.head_count", c.heads);
  number("attention.head_count_kv", c.kv_heads);
  number("attention.key_length", c.head_dim);
  number("attention.value_length", c.head_dim);
  number("rope.dimension_count", c.head_dim);
  header.add(family + ".rope.freq_base", static_cast<float>(c.theta));
  header.add(family + ".attention.layer_norm_rms_epsilon", static_cast<float>(c.eps));
  return header;
}

}  // namespace

void export_gguf(const Engine& engine, const ExportRequest& q, const LanguageRun& run) {
  const LanguageModel& own = run.own("`gguf`");
  const Family* family = family_of(own.config);
  if (!family)
    throw Error({.code = ErrorCode::usage,
                 .what = "GGUF files have no family of this shape",
                 .where = run.directory(),
                 .expected = "a model in the shape of Llama, Qwen2 or Qwen3"});
  if (own.config.gate.kind != GateKind::Silu)
    throw Error({.code = ErrorCode::usage,
                 .what = "GGUF files cannot say that the gate is " + std::string(gate_info(own.config.gate.kind).text.name),
                 .where = run.directory(),
                 .expected = "a model with the gate silu",
                 .hint = "`hf=DIR`, which names the gate"});
  if (exists(q.gguf) && !q.force)
    throw Error({.code = ErrorCode::usage,
                 .what = "the file is there already",
                 .where = q.gguf,
                 .expected = "a new file, or `force`"});
  const std::shared_ptr<const LanguageModel> held(&own, [](const LanguageModel*) {});  // the run holds it
  const FamilyModel model = family_model(held, run.directory());
  const FamilyConfig& c = model.config();
  GgufHeader header = header_of(model, run.directory());
  if (run.has_tokenizer() && run.tokenizer().format() == TokenizerFormat::gguf) {
    const WeightContents tokenizer = parse_gguf(as_bytes(run.tokenizer().model()), run.directory());
    header.add_pairs(tokenizer.tokenizer_pairs);
  } else {
    header.add("tokenizer.ggml.model", "no_vocab");
    engine.note("without a tokenizer: only one that came from a GGUF file can stand in one");
  }
  std::vector<StoredTensor> tensors(model.file().tensors().begin(), model.file().tensors().end());
  std::vector<std::vector<float>> turned;
  turned.reserve(tensors.size() + 1);
  const auto put = [&](StoredTensor& t, std::vector<float> values) {
    turned.push_back(std::move(values));
    t.bytes = std::as_bytes(std::span(turned.back()));
  };
  for (StoredTensor& t : tensors)
    if (family->gguf_adjacent &&
        (t.name.find(".attn_q.") != std::string::npos || t.name.find(".attn_k.") != std::string::npos))
      put(t, adjacent_rows(t, c.head_dim));
  if (!own.config.shape.rotary_scaling.empty()) {  // what each frequency is divided by
    const std::vector<double> plain = rotary_frequencies(c.theta, {}, c.head_dim), scaled = own.config.frequencies();
    std::vector<float> divisors;
    for (size_t j = 0; j < plain.size(); j++) divisors.push_back(static_cast<float>(plain[j] / scaled[j]));
    StoredTensor t;
    t.name = "rope_freqs.weight", t.shape = {divisors.size()};
    put(tensors.emplace_back(std::move(t)), divisors);
  }
  const StoredType type = q.gguf_type == "f16"    ? StoredType::f16
                          : q.gguf_type == "q8_0" ? StoredType::q8_0
                                                  : StoredType::f32;
  write_gguf(engine.files(), q.gguf, header, tensors, type);
}

}  // namespace glint
