// glint export: a run's weights for other programs, as .npy files or as a folder that PyTorch users expect.
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/verbs.h"
#include "glint/lab/publish/export.h"

namespace glint::cli {
namespace {

void run(Context& context, const ExportRequest& request) {
  const ExportResult r = export_run(engine_of(context), request);
  if (context.shared.json) return context.print_json(to_json(r));
  if (!r.npy.empty()) context.out << r.npy << ": " << r.arrays.size() << " arrays and manifest.json\n";
  if (!r.gguf.empty()) context.out << r.gguf << ": a GGUF file\n";
  if (r.hf.empty()) return;
  const std::string text = r.hf + ": " + joined(r.hf_files, ", ");
  context.out << prose(text + "\nIn Python, in that folder: " + r.loader + "\n", result_columns());
}

}  // namespace

void add_export(Program& program) {
  Verb& verb = program.add(
      {.name = "export",
       .group = Group::read,
       .summary = "weights and spectra for other programs",
       .details = "--npy writes each tensor as a NumPy file, with the gains and shifts of the calibrated gates, the "
                  "spectra where glint spectrum has stored them, and manifest.json with names, shapes, checksums "
                  "and, of spectra, the unit, form and layer of every row. --hf writes a folder as model hubs "
                  "expect it: config.json, model.safetensors, a model card with metrics, fidelity and training "
                  "options, and modeling_glint.py, a PyTorch class that gives the same logits (transformers opens a "
                  "language model with trust_remote_code). glint eval reads that folder too.\n\n"
                  "Of a model of another program --npy writes every tensor as f32, and --hf makes a GGUF or "
                  "llama2.c file a folder of Hugging Face of the same family, which transformers and glint open: "
                  "f32, f16 and bf16 stay as they are stored, quantised numbers become f32.\n\n"
                  "A run in the shape of Llama, which train --init and convert make, becomes a folder of that family "
                  "with --hf, and with --gguf a file that llama.cpp opens, if its gate is silu.\n\n"
                  "A folder appears whole or not at all. One that holds anything is left alone; --force replaces an "
                  "earlier export and nothing else.",
       .examples = {{"glint export runs/first --npy arrays", "arrays/embed.weight.npy, ..."},
                    {"glint export runs/first --hf hub/first --force", "for PyTorch, replacing the last export"},
                    {"glint export stories15M.bin --hf hub/stories15M", "a llama2.c file for transformers"}}});
  const auto o = std::make_shared<ExportRequest>();
  verb.add(fields_of(*o));
  verb.share_engine();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
