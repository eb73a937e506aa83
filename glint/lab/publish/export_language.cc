// Language models for other programs: glint's own with a loader for transformers, those of other programs in
// the layout of Hugging Face.
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/base/version.h"
#include "glint/io/safetensors.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/model_info.h"
#include "glint/lab/publish/export_arrays.h"
#include "glint/lab/publish/export_parts.h"
#include "glint/lab/publish/hf_folder.h"
#include "glint/lab/read/read_forms.h"
#include "glint/model/trainable.h"
#include "glint/model/family_hf.h"

namespace glint {
namespace {

// Weights in memory at a time; a file of the folder each.
constexpr uint64_t kShardBytes = uint64_t{1} << 30;

void write_manifest(const Engine& engine, const ExportFolder& folder, OrderedJson manifest,
                    const ExportArrays& arrays) {
  manifest["arrays"] = to_json(arrays.list());
  write_atomic(engine.files(), folder.file("manifest.json"), manifest.dump(2) + "\n");
}

// The run with its stories; its own without, and a note, when they are not at hand.
bool has_stories(const Engine& engine, LanguageRun& run) {
  try {
    run.stories();
    return true;
  } catch (const Error& e) {
    if (!run.source().data.empty() || e.code() == ErrorCode::interrupted) throw;
    engine.note("without the gains of the gates and the fidelity, since the stories are not at hand: " +
                e.parts().what);
    return false;
  }
}

// What a row of a matrix of a glint model is.
OrderedJson weight_rows(const std::string& name) {
  const auto is = [&](const char* part) { return name.find(part) != name.npos; };
  const char* rows = is("wte") || is("lm_head") ? "a token each, as in tokens.json"
                     : is("attn.qkv")           ? "queries of all heads, then keys, then values"
                     : is("mlp.w")              ? "hidden units: the gated half L, then R"
                                                : "a number of the residual stream each";
  return {{"rows", rows}};
}

// The pieces of the vocabulary, one per token.
void write_tokens(const Engine& engine, const ExportFolder& folder, const Tokenizer& tokenizer) {
  OrderedJson pieces = OrderedJson::array();
  for (size_t t = 0; t < tokenizer.size(); t++) pieces.push_back(tokenizer.piece(static_cast<TokenId>(t)));
  write_atomic(engine.files(), folder.file("tokens.json"),
               pieces.dump(0, ' ', true, OrderedJson::error_handler_t::replace) + "\n");
}

std::vector<ExportedArray> language_npy(const Engine& engine, const ExportRequest& q, LanguageRun& run, bool stories) {
  const LanguageModel& own = run.own();
  ExportFolder folder(engine.files(), q.npy, "manifest.json", q.force);
  ExportArrays arrays(engine, folder);
  arrays.add_weights(transformer_params(own.config).table, own.weights.span(), weight_rows);
  write_tokens(engine, folder, run.tokenizer());
  OrderedJson manifest = {{"format", "glint-npy"}, {"version", kVersion}, {"run", run.directory()}};
  manifest["config"] = OrderedJson(hf_config(own, run.tokenizer().end()));
  if (stories) manifest["calibration"] = arrays.add_calibration(run.calibration());
  manifest["spectra"] = arrays.add_spectra(run.directory());
  write_manifest(engine, folder, std::move(manifest), arrays);
  folder.commit();
  return arrays.list();
}

LanguageCard language_card(const Engine& engine, LanguageRun& run, bool stories) {
  const Json& file = run.info().run;
  LanguageCard card{.name = printable(std::filesystem::path(run.directory()).filename().string()),
                    .version = kVersion,
                    .options = {},
                    .result = {},
                    .layers = {},
                    .linear_r2 = {}};
  if (file.is_object()) {
    card.options = file["identity"]["options"];
    if (file.contains("result")) card.result = file["result"];
  }
  for (size_t i = 0; stories && i < run.reading().layers(); i++) {
    engine.check_stop();
    const Activations a = run.measured(i);
    card.linear_r2.push_back(layer_controls(run, i, {}).linear.r2);
    for (const Form form : run.forms())
      card.layers.push_back(
          {i + 1, name(form), run.reading().layer_fidelity(i, run.line(form, i), a.inputs, a.blocks)});
  }
  return card;
}

std::vector<std::string> language_hf(const Engine& engine, const ExportRequest& q, LanguageRun& run, bool stories) {
  const LanguageModel& own = run.own();
  ExportFolder folder(engine.files(), q.hf, "modeling_glint.py", q.force);
  save_weights(engine.files(), folder.file("model.safetensors"), transformer_params(own.config).table,
               own.weights.span());
  write_atomic(engine.files(), folder.file("config.json"), hf_config(own, run.tokenizer().end()).dump(2) + "\n");
  write_atomic(engine.files(), folder.file("tokenizer.model"), run.tokenizer().model());
  write_atomic(engine.files(), folder.file("README.md"), hf_readme(own, language_card(engine, run, stories)));
  write_atomic(engine.files(), folder.file("modeling_glint.py"), hf_language_modeling());
  folder.commit();
  return {"config.json", "model.safetensors", "modeling_glint.py", "tokenizer.model", "README.md"};
}

// What the tensors of a file of another program are as arrays: all as f32, blocks widened.
std::vector<ExportedArray> foreign_npy(const Engine& engine, const ExportRequest& q, const LanguageRun& run) {
  const FamilyModel& model = run.model();
  ExportFolder folder(engine.files(), q.npy, "manifest.json", q.force);
  ExportArrays arrays(engine, folder);
  for (const StoredTensor& t : model.file().tensors()) {
    engine.check_stop();
    if (!fits_file(t.name))
      bad_file(model.file().where() + ", " + printable(t.name), "the name of a tensor cannot be that of a file",
               "a name without slashes that does not begin with a dot");
    std::vector<float> values(t.values());
    widen(t, 0, values);
    arrays.add(t.name, Dtype::f32, t.shape, std::as_bytes(std::span(values)), {{"stored_as", name(t.type)}});
  }
  OrderedJson manifest = {{"format", "glint-npy"}, {"version", kVersion}, {"run", q.source.run}};
  manifest["config"] = OrderedJson(family_json(model));
  if (run.has_tokenizer()) write_tokens(engine, folder, run.tokenizer());
  manifest["spectra"] = arrays.add_spectra(run.results());
  write_manifest(engine, folder, std::move(manifest), arrays);
  folder.commit();
  return arrays.list();
}

// Floats as they are; others, and those that are turned or shifted, as f32.
bool kept_as_stored(const HfTensor& t) {
  const StoredType type = t.from->type;
  return t.heads == 0 && t.add == 0 && t.first == 0 && t.from->values() == t.values() &&
         (type == StoredType::f32 || type == StoredType::f16 || type == StoredType::bf16);
}

Dtype float_dtype(StoredType type) {
  return type == StoredType::f16 ? Dtype::f16 : type == StoredType::bf16 ? Dtype::bf16 : Dtype::f32;
}

// The tensors in files of about kShardBytes, and the index of them where there are several.
std::vector<std::string> write_shards(const Engine& engine, const ExportFolder& folder,
                                      const std::vector<HfTensor>& tensors) {
  std::vector<std::vector<const HfTensor*>> shards(1);
  uint64_t bytes = 0, total = 0;
  for (const HfTensor& t : tensors) {
    const uint64_t size = kept_as_stored(t) ? t.from->bytes.size() : 4 * uint64_t{t.values()};
    if (bytes > 0 && bytes + size > kShardBytes) shards.emplace_back(), bytes = 0;
    shards.back().push_back(&t);
    bytes += size, total += size;
  }
  std::vector<std::string> files;
  OrderedJson map = OrderedJson::object();
  for (size_t i = 0; i < shards.size(); i++) {
    engine.check_stop();
    const auto number = [](size_t n) { return std::string(5 - std::to_string(n).size(), '0') + std::to_string(n); };
    const std::string file = shards.size() == 1
                                 ? "model.safetensors"
                                 : "model-" + number(i + 1) + "-of-" + number(shards.size()) + ".safetensors";
    std::vector<std::vector<float>> wide;
    std::vector<TensorToWrite> out;
    for (const HfTensor* t : shards[i]) {
      map[t->name] = file;
      if (kept_as_stored(*t)) {
        out.push_back({t->name, float_dtype(t->from->type), t->shape, t->from->bytes});
        continue;
      }
      wide.emplace_back(t->values());
      widen(*t, wide.back());
      out.push_back({t->name, Dtype::f32, t->shape, std::as_bytes(std::span(wide.back()))});
    }
    write_safetensors(engine.files(), folder.file(file), out, {{"format", "pt"}});
    files.push_back(file);
  }
  if (shards.size() == 1) return files;
  const OrderedJson index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  write_atomic(engine.files(), folder.file("model.safetensors.index.json"), index.dump(2) + "\n");
  files.push_back("model.safetensors.index.json");
  return files;
}

// The tokenizer of the model as a file, where it is one that glint opens beside the weights.
std::string tokenizer_file(const LanguageRun& run) {
  if (!run.has_tokenizer()) return "";
  switch (run.tokenizer().format()) {
    case TokenizerFormat::sentencepiece:
      return "tokenizer.model";
    case TokenizerFormat::json:
      return "tokenizer.json";
    case TokenizerFormat::llama2c:
      return "tokenizer.bin";
    case TokenizerFormat::gguf:
      break;
  }
  return "";
}

std::vector<std::string> family_hf(const Engine& engine, const ExportRequest& q, const LanguageRun& run,
                                   const FamilyModel& model) {
  if (model.file().format() == WeightFormat::safetensors)
    bad_argument(q.source.run, "the model is a folder of Hugging Face already", "a GGUF or llama2.c file for `hf`",
                 "`npy=DIR` writes its tensors as arrays");
  ExportFolder folder(engine.files(), q.hf, "config.json", q.force);
  const std::vector<HfTensor> tensors = hf_tensors(model);
  write_atomic(engine.files(), folder.file("config.json"), hf_family_config(model).dump(2) + "\n");
  std::vector<std::string> files = {"config.json"};
  for (std::string& file : write_shards(engine, folder, tensors)) files.push_back(std::move(file));
  if (const std::string file = tokenizer_file(run); !file.empty()) {
    write_atomic(engine.files(), folder.file(file), run.tokenizer().model());
    files.push_back(file);
  } else {
    engine.note(!run.has_tokenizer()
                    ? "the model has no tokenizer, and the folder has none"
                    : "the tokenizer stays inside " + q.source.run + ": give that file as `tokenizer`");
  }
  folder.commit();
  return files;
}

}  // namespace

void export_language(const Engine& engine, const ExportRequest& q, LanguageRun& run, ExportResult& r) {
  run.note_tokenizer();
  const char* load = "from transformers import AutoModelForCausalLM; AutoModelForCausalLM.from_pretrained(\".\"";
  if (run.foreign()) {
    run.model().check_numbers(engine.pool());
    if (!q.gguf.empty()) export_gguf(engine, q, run);
    if (!q.npy.empty()) r.arrays = foreign_npy(engine, q, run);
    if (!q.hf.empty()) r.hf_files = family_hf(engine, q, run, run.model()), r.loader = std::string(load) + ")";
    return;
  }
  if (!q.gguf.empty()) export_gguf(engine, q, run);
  const bool stories = has_stories(engine, run);
  if (!q.npy.empty()) r.arrays = language_npy(engine, q, run, stories);
  if (!q.hf.empty() && family_of(run.own().config)) {
    const std::shared_ptr<const LanguageModel> held(&run.own(), [](const LanguageModel*) {});  // the run holds it
    r.hf_files = family_hf(engine, q, run, family_model(held, run.directory()));
    r.loader = std::string(load) + ")";
  } else if (!q.hf.empty()) {
    r.hf_files = language_hf(engine, q, run, stories);
    r.loader = std::string(load) + ", trust_remote_code=True)";
  }
}

}  // namespace glint
