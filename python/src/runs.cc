// Runs: what they say of inputs, stories, evaluations, lists, pages and exports.
#include "glint/lab/work/runs.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bind.h"
#include "call.h"
#include "data.h"
#include "errors.h"
#include "fields.h"
#include "figures.h"
#include "glint/io/svg_png.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/models/generate.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/logits.h"
#include "glint/lab/publish/export.h"
#include "glint/lab/publish/page.h"
#include "glint/lab/study/readability.h"
#include "glint/report/gate_figure.h"
#include "json_text.h"
#include "source.h"

namespace glint::python {
namespace {

// What a run is, without its data: kind, text, configuration, names of the classes.
std::string open_json(const std::string& directory, const std::string& tokenizer, nb::handle talk) {
  Call call(talk);
  return json_text(call.run([&] {
    const std::unique_ptr<Run> opened = open_run(call.engine(), {.run = directory, .tokenizer = tokenizer});
    const Run& run = *opened;
    const RunInfo& info = run.info();
    const bool language = run.kind() == ModelKind::language;
    OrderedJson j = {{"directory", info.directory},
                     {"kind", language ? "language" : "image"},
                     {"foreign", language && run.language().foreign()},
                     {"precision", info.precision},
                     {"data_checksum", info.data_checksum},
                     {"run", OrderedJson(info.run)}};
    j["text"] = run.text();
    j["model"] = OrderedJson(run.config());
    j["gate"] = gate_info(run.gate()).text.name;
    j["trained_on"] = run.trained_on();
    j["layers"] = run.reading().layers();
    for (const Form form : run.forms()) j["forms"].push_back(name(form));
    if (!language) {
      j["class_names"] = run.image().class_names();
      j["picture"] = {run.image().model().height, run.image().model().width};
    }
    return j;
  }));
}

template <class T>
Matrix<float> image_logits(const Engine& engine, const std::string& run, ConstMatrixView<T> images) {
  const auto opened = open_image_run(engine, {.run = run});
  const ImageReading& reading = opened->reading();
  return std::move(reading.run(images, reading.last()).logits);
}

nb::object logits_of(const std::string& directory, const AnyArray& inputs, nb::handle talk) {
  const Rows rows = rows_of(inputs);
  if (!rows.good) refuse("X", "its elements do not lie side by side", "a contiguous array");
  Call call(talk);
  if (holds<uint32_t>(inputs)) {
    if (inputs.ndim() != 1) refuse("X", "not a list of tokens", "[tokens]");
    const std::span<const TokenId> tokens(static_cast<const TokenId*>(inputs.data()), inputs.shape(0));
    return to_numpy(call.run([&] {
      return language_logits(call.engine(), *open_language_run(call.engine(), {.run = directory}), tokens);
    }));
  }
  if (inputs.ndim() != 2) refuse("X", "not a matrix", "[samples, numbers]");
  if (holds<uint8_t>(inputs)) {
    const auto images = view_of<uint8_t>(inputs, rows);
    return to_numpy(call.run([&] { return image_logits(call.engine(), directory, images); }));
  }
  if (!holds<float>(inputs)) refuse("X", "another type", "uint8 or float32, or uint32 for tokens");
  const auto images = view_of<float>(inputs, rows);
  return to_numpy(call.run([&] { return image_logits(call.engine(), directory, images); }));
}

nb::list tokens_of(const std::string& directory, nb::handle text, const std::string& tokenizer,
                   nb::handle talk) {
  const std::string words = text_of(text, "text");
  Call call(talk);
  nb::list out;
  const auto tokens = call.run([&] {
    const auto run = open_language_run(call.engine(), {.run = directory, .tokenizer = tokenizer});
    return run->foreign() ? run->tokens_of(words) : prompt_tokens(call.engine(), *run, words);
  });
  for (const TokenId t : tokens) out.append(t);
  return out;
}

std::string decode(const std::string& directory, const AnyArray& inputs, const std::string& tokenizer,
                   nb::handle talk) {
  if (inputs.ndim() != 1 || !holds<uint32_t>(inputs) || !rows_of(inputs).good)
    refuse("tokens", "not a list of tokens", "[tokens] of uint32");
  const std::span<const TokenId> tokens(static_cast<const TokenId*>(inputs.data()), inputs.shape(0));
  Call call(talk);
  return call.run([&] {
    return tokens_text(*open_language_run(call.engine(), {.run = directory, .tokenizer = tokenizer}), tokens);
  });
}

std::string generate_json(nb::dict values, nb::handle talk) {
  const Fields fields(values);
  std::string directory, tokenizer;
  GenerateRequest request;
  fields.text("run", directory);
  fields.text("tokenizer", tokenizer);
  fields.text("prompt", request.prompt);
  fields.count("count", request.count);
  fields.count("tokens", request.tokens);
  fields.real("temperature", request.sampling.temperature);
  fields.count("top_k", request.sampling.top_k);
  fields.real("top_p", request.sampling.top_p);
  fields.count("seed", request.sampling.seed);
  Call call(talk);
  return json_text(to_json(call.run([&] {
    return generate_stories(call.engine(),
                            *open_language_run(call.engine(), {.run = directory, .tokenizer = tokenizer}),
                            request);
  })));
}

nb::tuple evaluate_image_run(nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  ImageEvaluationRequest request;
  std::string precision = "f32";
  fields.text("run", request.run);
  fields.text("data", request.data);
  fields.text("data_dir", request.data_dir);
  fields.text("split", request.split);
  fields.count("worst", request.worst);
  fields.text("precision", precision);
  request.images = images_of(data);
  Call call(talk, precision);
  ImageEvaluation result = call.run([&] { return evaluate_images(call.engine(), request); });
  std::string text = json_text(to_json(result));
  return nb::make_tuple(std::move(text), to_numpy(std::move(result.logits)),
                        to_numpy(std::move(result.confusion)));
}

std::string evaluate_text_run(nb::dict values, nb::handle talk) {
  const Fields fields(values);
  TextEvaluationRequest request;
  std::string precision = "f32";
  fields.text("run", request.run);
  fields.text("data", request.data);
  fields.text("split", request.split);
  fields.text("text", request.text);
  fields.text("tokenizer", request.tokenizer);
  fields.text("precision", precision);
  Call call(talk, precision);
  return json_text(to_json(call.run([&] { return evaluate_text(call.engine(), request); })));
}

std::string page_json(nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  PageRequest request;
  set_source(fields, data, request.first);
  fields.text("other", request.second);
  fields.text("out", request.out);
  fields.count("images", request.images);
  fields.count("vectors", request.vectors);
  fields.count("limit", request.limit);
  fields.text("layers", request.layers);
  fields.text("token", request.token);
  Call call(talk);
  return json_text(to_json(call.run([&] { return write_page(call.engine(), request); })));
}

std::string export_json(nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  ExportRequest request;
  set_source(fields, data, request.reading);
  fields.text("npy", request.npy);
  fields.text("hf", request.hf);
  fields.flag("force", request.force);
  Call call(talk);
  return json_text(to_json(call.run([&] { return export_run(call.engine(), request); })));
}

std::string readability_json(nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  ReadabilityRequest request;
  fields.texts("runs", request.runs);
  fields.text("data", request.data);
  fields.text("data_dir", request.data_dir);
  fields.text("form", request.form);
  fields.layer("layer", request.layer);
  fields.text("token", request.token);
  fields.text("tokenizer", request.tokenizer);
  request.images = images_of(data);
  Call call(talk);
  return json_text(to_json(call.run([&] { return readability(call.engine(), request); })));
}

nb::tuple runs_list(nb::dict values, nb::handle talk) {
  const Fields fields(values);
  RunsRequest request;
  fields.texts("folders", request.folders);
  fields.texts("where", request.where);
  fields.text("sort", request.sort);
  Call call(talk);
  const RunsResult result = call.run([&] { return list_runs(call.engine(), request); });
  nb::object curves = nb::none();
  try {
    std::vector<std::string> notes;
    curves = figure_tuple("runs", figure_of(runs_chart(result, notes)));
  } catch (const Error&) {  // too many curves for one figure: there is none
  }
  return nb::make_tuple(json_text(to_json(result)), curves);
}

nb::tuple gates_chart(double c, double lam, double p) {
  const GateParams params{c, lam, p};
  check(params);
  return figure_tuple("gates", figure_of(gate_figure(params)));
}

nb::bytes png_of(const std::string& svg, double scale) {
  if (!(scale > 0) || scale > 100) refuse("scale", "out of range", "a number above 0, at most 100");
  SvgPng made;
  {
    nb::gil_scoped_release release;
    made = svg_to_png(svg, scale);
  }
  if (made.png.empty())
    throw Error({.code = ErrorCode::failure,
                 .what = "no PNG could be made: " + made.problem,
                 .where = {},
                 .expected = {},
                 .hint = "save as .svg"});
  return nb::bytes(made.png.data(), made.png.size());
}

}  // namespace

void bind_runs(nb::module_& m) {
  m.def("open_run", &open_json, nb::arg("directory"), nb::arg("tokenizer"), nb::arg("talk").none());
  m.def("logits", &logits_of, nb::arg("directory"), nb::arg("inputs"), nb::arg("talk").none());
  m.def("tokens", &tokens_of, nb::arg("directory"), nb::arg("text"), nb::arg("tokenizer"),
        nb::arg("talk").none());
  m.def("decode", &decode, nb::arg("directory"), nb::arg("tokens"), nb::arg("tokenizer"),
        nb::arg("talk").none());
  m.def("generate", &generate_json, nb::arg("fields"), nb::arg("talk").none());
  m.def("evaluate_images", &evaluate_image_run, nb::arg("fields"), nb::arg("data").none(),
        nb::arg("talk").none());
  m.def("evaluate_text", &evaluate_text_run, nb::arg("fields"), nb::arg("talk").none());
  m.def("page", &page_json, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
  m.def("export", &export_json, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
  m.def("readability", &readability_json, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
  m.def("runs", &runs_list, nb::arg("fields"), nb::arg("talk").none());
  m.def("gates_figure", &gates_chart, nb::arg("c"), nb::arg("lam"), nb::arg("p"));
  m.def("svg_to_png", &png_of, nb::arg("svg"), nb::arg("scale"));
}

}  // namespace glint::python
