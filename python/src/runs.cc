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
#include "glint/lab/models/language_run.h"
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
std::string about_json(OpenRun& opened) {
  return opened.look([](Run& run) {
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
    return json_text(j);
  });
}

// `inputs` as a list of tokens.
std::span<const TokenId> tokens_in(const AnyArray& inputs, const char* name) {
  if (inputs.ndim() != 1 || !holds<uint32_t>(inputs) || !rows_of(inputs).good)
    refuse(name, "not a list of tokens", "[tokens] of uint32");
  return {static_cast<const TokenId*>(inputs.data()), inputs.shape(0)};
}

template <class T>
nb::object image_logits(OpenRun& run, const AnyArray& inputs, const Rows& rows, nb::handle talk) {
  const ConstMatrixView<T> images = view_of<T>(inputs, rows);
  return to_numpy(run.call(talk, [&](const Engine&, Run& of) {
    const ImageReading& reading = of.image().reading();
    return std::move(reading.run(images, reading.last()).logits);
  }));
}

nb::object logits_of(OpenRun& run, const AnyArray& inputs, nb::handle talk) {
  if (holds<uint32_t>(inputs)) {
    const std::span<const TokenId> tokens = tokens_in(inputs, "X");
    return to_numpy(run.call(
        talk, [&](const Engine& engine, Run& of) { return language_logits(engine, of.language(), tokens); }));
  }
  const Rows rows = rows_of(inputs);
  if (inputs.ndim() != 2 || !rows.good) refuse("X", "not a matrix", "[samples, numbers]");
  if (holds<uint8_t>(inputs)) return image_logits<uint8_t>(run, inputs, rows, talk);
  if (!holds<float>(inputs)) refuse("X", "another type", "uint8 or float32, or uint32 for tokens");
  return image_logits<float>(run, inputs, rows, talk);
}

std::vector<TokenId> tokens_of(OpenRun& run, nb::handle text) {
  const std::string words = text_of(text, "text");
  return run.look([&](Run& of) { return of.language().tokens_of(words); });
}

std::string decode(OpenRun& run, const AnyArray& inputs) {
  const std::span<const TokenId> tokens = tokens_in(inputs, "tokens");
  return run.look([&](Run& of) { return tokens_text(of.language(), tokens); });
}

std::string generate_json(OpenRun& run, nb::dict values, nb::handle talk) {
  const Fields fields(values);
  GenerateRequest request;
  fields.text("prompt", request.prompt);
  fields.count("count", request.count);
  fields.count("tokens", request.tokens);
  fields.real("temperature", request.sampling.temperature);
  fields.count("top_k", request.sampling.top_k);
  fields.real("top_p", request.sampling.top_p);
  fields.count("seed", request.sampling.seed);
  return json_text(to_json(run.call(talk, [&](const Engine& engine, Run& of) {
    return generate_stories(engine, of.language(), request);
  })));
}

nb::tuple evaluate_image_run(OpenRun& run, nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  EvaluationRequest request;
  const RunSource source = asked_source(run, fields, data);
  fields.text("split", request.split);
  fields.count("worst", request.worst);
  ImageEvaluation result = run.call(
      talk, source,
      [&](const Engine& engine, Run& of) { return evaluate_images(engine, of.image(), request); }, true);
  std::string text = json_text(to_json(result));
  return nb::make_tuple(std::move(text), to_numpy(std::move(result.logits)),
                        to_numpy(std::move(result.confusion)));
}

std::string evaluate_text_run(OpenRun& run, nb::dict values, nb::handle talk) {
  const Fields fields(values);
  EvaluationRequest request;
  const RunSource source = asked_source(run, fields);
  request.source = source;
  fields.text("split", request.split);
  fields.text("text", request.source.text);
  return json_text(to_json(run.call(
      talk, source,
      [&](const Engine& engine, Run& of) { return evaluate_text(engine, of.language(), request); }, true)));
}

std::string page_json(OpenRun& run, nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  PageRequest request;
  request.source = asked_source(run, fields, data);
  fields.text("other", request.second);
  fields.text("out", request.out);
  fields.count("images", request.images);
  fields.count("vectors", request.show);
  fields.count("limit", request.limit);
  fields.text("layers", request.layers);
  std::string token;
  fields.text("token", token);
  if (!token.empty()) request.along.directions = {"token:" + token};
  return json_text(to_json(run.call(
      talk, request.source, [&](const Engine& engine, Run& of) { return write_page(engine, of, request); })));
}

std::string export_json(OpenRun& run, nb::dict values, nb::handle talk) {
  const Fields fields(values);
  ExportRequest request;
  request.source = run.source();
  fields.text("npy", request.npy);
  fields.text("hf", request.hf);
  fields.flag("force", request.force);
  return json_text(to_json(
      run.call(talk, [&](const Engine& engine, Run& of) { return export_run(engine, of, request); })));
}

OpenRun* opened(nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  RunSource source;
  fields.text("run", source.run);
  fields.text("data", source.data);
  fields.text("data_dir", source.data_dir);
  fields.text("tokenizer", source.tokenizer);
  source.images = images_of(data);
  return new OpenRun(std::move(source), talk);
}

std::string readability_json(nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  ReadabilityRequest request;
  fields.texts("runs", request.runs);
  fields.text("data", request.source.data);
  fields.text("data_dir", request.source.data_dir);
  fields.text("form", request.form);
  fields.layer("layer", request.layer);
  std::string token;
  fields.text("token", token);
  if (!token.empty()) request.along.directions = {"token:" + token};
  fields.text("tokenizer", request.source.tokenizer);
  request.source.images = images_of(data);
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

void bind_runs(nb::module_& m, nb::class_<OpenRun>& run) {
  m.def("open_run", &opened, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none(),
        nb::rv_policy::take_ownership);
  run.def("about", &about_json)
      .def("close", &OpenRun::close)
      .def_prop_ro("closed", &OpenRun::closed)
      .def("logits", &logits_of, nb::arg("inputs"), nb::arg("talk").none())
      .def("tokens", &tokens_of, nb::arg("text"))
      .def("decode", &decode, nb::arg("tokens"))
      .def("generate", &generate_json, nb::arg("fields"), nb::arg("talk").none())
      .def("evaluate_images", &evaluate_image_run, nb::arg("fields"), nb::arg("data").none(),
           nb::arg("talk").none())
      .def("evaluate_text", &evaluate_text_run, nb::arg("fields"), nb::arg("talk").none())
      .def("page", &page_json, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none())
      .def("export", &export_json, nb::arg("fields"), nb::arg("talk").none());
  m.def("readability", &readability_json, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
  m.def("runs", &runs_list, nb::arg("fields"), nb::arg("talk").none());
  m.def("gates_figure", &gates_chart, nb::arg("c"), nb::arg("lam"), nb::arg("p"));
  m.def("svg_to_png", &png_of, nb::arg("svg"), nb::arg("scale"));
}

}  // namespace glint::python
