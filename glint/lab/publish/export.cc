#include "glint/lab/publish/export.h"

#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/base/version.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/publish/export_arrays.h"
#include "glint/lab/publish/export_parts.h"
#include "glint/lab/publish/hf_folder.h"
#include "glint/lab/read/read_forms.h"

namespace glint {
namespace {

// Whether the data are at hand; a note where they are not: the weights can go without.
bool has_images(const Engine& engine, const ExportRequest& q, ImageRun& run) {
  try {
    run.images();
    return true;
  } catch (const Error& e) {
    if (!q.source.data.empty() || q.source.images || e.code() == ErrorCode::interrupted) throw;
    engine.note("without the gains of the gates and the fidelity, since the data are not at hand: " + e.parts().what);
    return false;
  }
}

std::vector<ExportedArray> export_npy(const Engine& engine, const ExportRequest& q, ImageRun& run, bool images) {
  ExportFolder folder(engine.files(), q.npy, "manifest.json", q.force);
  ExportArrays arrays(engine, folder);
  arrays.add_weights(classifier_params(run.model().config).table, run.model().weights.span());
  OrderedJson manifest = {{"format", "glint-npy"}, {"version", kVersion}, {"run", run.directory()}};
  manifest["config"] = OrderedJson(hf_config(run.model()));
  if (images) manifest["calibration"] = arrays.add_calibration(run.calibration());
  manifest["spectra"] = arrays.add_spectra(run.directory());
  manifest["arrays"] = to_json(arrays.list());
  write_atomic(engine.files(), folder.file("manifest.json"), manifest.dump(2) + "\n");
  folder.commit();
  return arrays.list();
}

ModelCard model_card(ImageRun& run, bool images) {
  const std::filesystem::path path = run.directory();
  const Json& file = run.info().run;
  ModelCard card{
      .name = printable(path.filename().string()), .version = kVersion, .options = {}, .result = {}, .fidelity = {}};
  if (file.is_object()) {
    card.options = file["identity"]["options"];
    if (file.contains("result")) card.result = file["result"];
  }
  if (!images) return card;
  const ImageReading& reading = run.reading();
  const Activations pass = run.measured(reading.last());
  const std::vector<Form> forms = run.forms();
  for (const Form form : forms)
    card.fidelity.push_back(
        {name(form), form_fidelity(reading, reading.classes(), run.line(form, reading.last()), pass)});
  const Controls controls = controls_of(run, all_classes, forms, pass);
  card.fidelity.push_back({"control: linear map", controls.linear});
  for (const Form form : forms)
    card.fidelity.push_back({"control: untrained, " + std::string(name(form)), controls.untrained.at(form)});
  return card;
}

std::vector<std::string> export_hf(const Engine& engine, const ExportRequest& q, ImageRun& run, bool images) {
  ExportFolder folder(engine.files(), q.hf, "modeling_glint.py", q.force);
  save_weights(engine.files(), folder.file("model.safetensors"), classifier_params(run.model().config).table,
               run.model().weights.span());
  write_atomic(engine.files(), folder.file("config.json"), hf_config(run.model()).dump(2) + "\n");
  write_atomic(engine.files(), folder.file("README.md"), hf_readme(run.model(), model_card(run, images)));
  write_atomic(engine.files(), folder.file("modeling_glint.py"), hf_modeling());
  folder.commit();
  return {"config.json", "model.safetensors", "modeling_glint.py", "README.md"};
}

}  // namespace

std::vector<Field> fields_of(ExportRequest& q) {
  return join(
      fields_of(q.source),
      {Field("npy", q.npy, "Write .npy files into this new folder").directory(),
       Field("hf", q.hf, "Write a folder as model hubs expect it").directory(),
       Field("gguf", q.gguf, "Write this GGUF file").file().language(),
       Field("gguf_type", q.gguf_type, "What its matrices are stored as").one_of({"f32", "f16", "q8_0"}).language(),
       Field("force", q.force, "Replace an earlier export")});
}

ExportResult export_run(const Engine& engine, const ExportRequest& q) {
  return export_run(engine, *open_run(engine, q.source), q);
}

ExportResult export_run(const Engine& engine, Run& opened, const ExportRequest& q) {
  if (q.npy.empty() && q.hf.empty() && q.gguf.empty())
    bad_argument(q.source.run, "no kind of export is given", "`npy=DIR`, `hf=DIR` or `gguf=FILE`");
  ExportResult r{.run = opened.directory(),
                 .linalg = engine.linalg().description(),
                 .npy = q.npy,
                 .hf = q.hf,
                 .gguf = q.gguf,
                 .arrays = {},
                 .hf_files = {}};
  if (opened.kind() == ModelKind::language) {
    export_language(engine, q, opened.language(), r);
    return r;
  }
  ImageRun& run = opened.image();
  const bool images = has_images(engine, q, run);
  if (!q.npy.empty()) r.arrays = export_npy(engine, q, run, images);
  if (!q.hf.empty()) {
    r.hf_files = export_hf(engine, q, run, images);
    r.loader = "from modeling_glint import GlintClassifier; GlintClassifier.from_pretrained(\".\")";
  }
  return r;
}

OrderedJson to_json(const ExportResult& r) {
  OrderedJson exports = OrderedJson::array();
  if (!r.npy.empty()) exports.push_back({{"out", r.npy}, {"kind", "npy"}, {"arrays", to_json(r.arrays)}});
  if (!r.hf.empty()) exports.push_back({{"out", r.hf}, {"kind", "hf"}, {"files", r.hf_files}, {"loader", r.loader}});
  if (!r.gguf.empty()) exports.push_back({{"out", r.gguf}, {"kind", "gguf"}});
  return {{"schema", "glint-export/1"}, {"run", r.run}, {"linalg", r.linalg}, {"exports", exports}};
}

}  // namespace glint
