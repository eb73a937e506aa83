#include "glint/lab/export.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/version.h"
#include "glint/lab/controls.h"
#include "glint/lab/export_arrays.h"
#include "glint/lab/export_parts.h"
#include "glint/lab/foreign.h"
#include "glint/lab/run_checks.h"
#include "glint/report/hf_folder.h"

namespace glint {
namespace {

// The run with its data; null, with a note, when the data are not at hand: the weights can go without.
std::unique_ptr<Run> open_with_data(const Engine& engine, const ExportRequest& q, const std::string& lost) {
  try {
    auto run = std::make_unique<Run>(engine, q.reading);
    run->images();
    return run;
  } catch (const Error& e) {
    if (!q.reading.data.empty() || q.reading.images || e.code() == ErrorCode::interrupted) throw;
    engine.note("without " + lost + ", since the data are not at hand: " + e.parts().what);
    return nullptr;
  }
}

std::vector<ExportedArray> export_npy(const Engine& engine, const ExportRequest& q, const LoadedRun& run,
                                      Run* opened) {
  ExportFolder folder(engine.files(), q.npy, "manifest.json", q.force);
  ExportArrays arrays(engine, folder);
  arrays.add_weights(classifier_params(run.model.config).table, run.model.weights.span());
  OrderedJson manifest = {{"format", "glint-npy"}, {"version", kVersion}, {"run", run.directory}};
  manifest["config"] = OrderedJson(hf_config(run.model));
  if (opened) manifest["calibration"] = arrays.add_calibration(opened->calibration());
  manifest["spectra"] = arrays.add_spectra(run.directory);
  manifest["arrays"] = to_json(arrays.list());
  write_atomic(engine.files(), folder.file("manifest.json"), manifest.dump(2) + "\n");
  folder.commit();
  return arrays.list();
}

ModelCard model_card(const LoadedRun& run, Run* opened) {
  const std::filesystem::path path = run.directory;
  ModelCard card{.name = printable(path.filename().string()),
                 .version = kVersion,
                 .options = {},
                 .result = {},
                 .fidelity = {}};
  if (run.run.is_object()) {
    card.options = run.run["identity"]["options"];
    if (run.run.contains("result")) card.result = run.run["result"];
  }
  if (!opened) return card;
  const ImageReading& reading = opened->image_reading();
  const ImageSet& test = opened->images().test;
  const Activations pass = reading.run(test, reading.last());
  const std::vector<std::string> forms = opened->forms();
  for (const std::string& form : forms)
    card.fidelity.push_back(
        {form, reading.read(reading.classes(), opened->lines(form)[reading.last()], pass, labels_of(test))
                   .fidelity});
  const Controls controls = controls_of(
      *opened, [](Run& of) { return of.image_reading().classes(); }, forms, pass, labels_of(test));
  card.fidelity.push_back({"control: linear map", controls.linear});
  for (const std::string& form : forms)
    card.fidelity.push_back({"control: untrained, " + form, controls.untrained.at(form)});
  return card;
}

std::vector<std::string> export_hf(const Engine& engine, const ExportRequest& q, const LoadedRun& run,
                                   Run* opened) {
  ExportFolder folder(engine.files(), q.hf, "modeling_glint.py", q.force);
  save_weights(engine.files(), folder.file("model.safetensors"), classifier_params(run.model.config).table,
               run.model.weights.span());
  write_atomic(engine.files(), folder.file("config.json"), hf_config(run.model).dump(2) + "\n");
  write_atomic(engine.files(), folder.file("README.md"), hf_readme(run.model, model_card(run, opened)));
  write_atomic(engine.files(), folder.file("modeling_glint.py"), hf_modeling());
  folder.commit();
  return {"config.json", "model.safetensors", "modeling_glint.py", "README.md"};
}

}  // namespace

ExportResult export_run(const Engine& engine, const ExportRequest& q) {
  if (q.npy.empty() && q.hf.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "no kind of export is given",
                 .where = q.reading.run,
                 .expected = "`npy=DIR`, `hf=DIR`, or both"});
  if (is_foreign(q.reading.run)) return export_foreign(engine, q);
  refuse_tokenizer(q.reading.tokenizer);
  if (model_kind(open_run(q.reading.run).directory) == ModelKind::language) return export_language(engine, q);
  const std::unique_ptr<Run> opened = open_with_data(engine, q, "the gains of the gates and the fidelity");
  const LoadedRun run = opened ? opened->image() : load_run(engine, q.reading.run);
  ExportResult r{.run = run.directory,
                 .linalg = engine.linalg().description(),
                 .npy = q.npy,
                 .hf = q.hf,
                 .arrays = {},
                 .hf_files = {}};
  if (!q.npy.empty()) r.arrays = export_npy(engine, q, run, opened.get());
  if (!q.hf.empty()) {
    r.hf_files = export_hf(engine, q, run, opened.get());
    r.loader = "from modeling_glint import GlintClassifier; GlintClassifier.from_pretrained(\".\")";
  }
  return r;
}

OrderedJson to_json(const ExportResult& r) {
  OrderedJson exports = OrderedJson::array();
  if (!r.npy.empty()) exports.push_back({{"out", r.npy}, {"kind", "npy"}, {"arrays", to_json(r.arrays)}});
  if (!r.hf.empty())
    exports.push_back({{"out", r.hf}, {"kind", "hf"}, {"files", r.hf_files}, {"loader", r.loader}});
  return {{"schema", "glint-export/1"}, {"run", r.run}, {"linalg", r.linalg}, {"exports", exports}};
}

}  // namespace glint
