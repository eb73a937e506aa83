// The changed model as a run: nothing but its weights, how it was made, and one evaluation.
#include <cmath>

#include "glint/base/sha256.h"
#include "glint/io/seal.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/study/ablate_parts.h"
#include "glint/train/run_file.h"
#include "glint/train/text_task.h"

namespace glint {
namespace {

ParamTable table_of(const Run& run) {
  return run.kind() == ModelKind::image ? classifier_params(run.image().model().config).table
                                        : transformer_params(run.language().own().config).table;
}

// Of its own folder alone: the folders above are nothing for a file that is passed on.
std::string folder_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

Json how_it_was_made(Run& run, const Ablation& r) {
  Json removed = Json::array();
  for (const RemovedVector& v : r.all.removed)
    removed.push_back({{"direction", v.direction}, {"rank", v.rank}, {"eigenvalue", v.value}});
  return {{"of", folder_name(r.run)}, {"weights_sha256", run.reading().weights_hash()},
          {"layer", r.layer + 1},     {"form", name(r.form)},
          {"scale", r.scale},         {"dimensions", r.all.dimensions},
          {"removed", removed}};
}

// As a line of metrics. Image models were measured on all test images already; stories are now, on all.
Json evaluation(const Engine& engine, Run& run, const Ablation& r, const Matrix<float>& weights, uint64_t step) {
  double loss = r.all.after.loss, accuracy = r.all.after.accuracy;
  const bool text = run.kind() == ModelKind::language;
  if (text) {
    const TransformerConfig& config = run.language().own().config;
    constexpr size_t kRows = 32;
    TransformerEngine transformer(config, engine.compute(), kRows, false);
    transformer.set_weights(weights.span());
    const TextResult sum =
        evaluate_corpus(transformer, run.language().stories().valid, run.language().rows(config.context),
                        [&](std::span<const float>) { engine.check_stop(); });
    loss = sum.loss / static_cast<double>(sum.tokens);
    accuracy = static_cast<double>(sum.correct) / static_cast<double>(sum.tokens);
  }
  Json line = {{"step", step}, {"epoch", 0},    {"epoch_end", true}, {"test_loss", loss}, {"test_accuracy", accuracy},
               {"lr", 0.0},    {"seconds", 0.0}};
  if (const Json& before = run.info().run; before.is_object() && before.contains("result"))
    line["epoch"] = before["result"].value("epoch", uint64_t{0});
  if (text && std::isfinite(std::exp(loss))) line["test_perplexity"] = std::exp(loss);
  return line;
}

}  // namespace

Matrix<float> ablated_weights(const Run& run, size_t layer, ConstMatrixView<double> basis, double keep) {
  const bool image = run.kind() == ModelKind::image;
  Matrix<float> weights = image ? run.image().model().weights : run.language().own().weights;
  const std::string number = std::to_string(layer),
                    tensor = image ? "blocks." + number + ".weight" : "transformer.h." + number + ".mlp.w.weight";
  fold_ablation(run.reading().linalg(), basis, keep, table_of(run).find(weights.span(), tensor));
  return weights;
}

void save_ablated_run(const Engine& engine, Run& run, const Ablation& r, Matrix<float> weights, ExportFolder& folder) {
  const Json& before = run.info().run;
  const ParamTable table = table_of(run);
  // The identity is that of the run it came from and what was done since: `train` never takes it for its own.
  Json identity = before.is_object() ? before["identity"] : Json{{"options", Json::object()}};
  identity["ablations"].push_back(how_it_was_made(run, r));
  const uint64_t steps = before.is_object() ? before.value("steps", uint64_t{0}) : 0;
  const Json line = evaluation(engine, run, r, weights, steps);
  Json json = {{"identity", identity},
               {"machine", engine.machine()},
               {"parameters", table.parameters()},
               {"steps", steps},
               {"state", "finished"},
               {"seconds", 0.0},
               {"evaluations", 1},
               {"result", line}};
  if (before.is_object() && before.contains("data")) json["data"] = before["data"];

  std::map<std::string, std::string> files;
  if (run.kind() == ModelKind::image) {
    files["config.json"] = config_text(run.image().model());
  } else {
    files["config.json"] = config_text(run.language().own());
    files[kTokenizerFile] = run.language().tokenizer().model();
  }
  for (const auto& [name, content] : files) {
    write_atomic(engine.files(), folder.file(name), content);
    json["files"][name] = sha256_hex(as_bytes(content));
  }
  save_weights(engine.files(), folder.file(kWeightsFile), table, weights.span());
  json["files"][kWeightsFile] = weights_file_hash(table, weights.span());
  write_atomic(engine.files(), folder.file(kMetricsFile), metrics_line(line));
  write_atomic(engine.files(), folder.file(kRunFile), sealed_text(json, 2) + "\n");
  folder.commit();
}

}  // namespace glint
