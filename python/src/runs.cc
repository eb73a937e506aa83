// Runs: what they say of inputs, stories, evaluations, lists, pages and exports.
#include "glint/lab/work/runs.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "answers.h"
#include "arrays.h"
#include "bind.h"
#include "errors.h"
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
#include "glint/report/gate_table.h"

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
    return to_numpy(
        run.call(talk, [&](const Engine& engine, Run& of) { return language_logits(engine, of.language(), tokens); }));
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

std::string readability_json(nb::handle values, nb::handle data, nb::handle talk) {
  const auto request = request_of<ReadabilityRequest>(values, {}, data);
  Call call(talk);
  return json_text(to_json(call.run([&] { return readability(call.engine(), request); })));
}

nb::tuple runs_list(nb::handle values, nb::handle talk) {
  RunsRequest request;
  set_from(fields_of(request), dict_of(values));
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
  m.def(
      "open_run",
      [](nb::handle values, nb::handle data, nb::handle talk) {
        RunSource source;
        source.images = images_of(data);
        set_from(fields_of(source), dict_of(values));
        return new OpenRun(std::move(source), talk);
      },
      nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none(), nb::rv_policy::take_ownership);
  run.def("about", &about_json)
      .def("close", &OpenRun::close)
      .def_prop_ro("closed", &OpenRun::closed)
      .def("logits", &logits_of, nb::arg("inputs"), nb::arg("talk").none())
      .def("tokens", &tokens_of, nb::arg("text").none())
      .def("decode", &decode, nb::arg("tokens"));
  answer<GenerateRequest>(run, "generate", [](const Engine& e, Run& of, const GenerateRequest& q) {
    return generate_stories(e, of.language(), q);
  });
  answer<EvaluationRequest>(
      run, "evaluate_images",
      [](const Engine& e, Run& of, const EvaluationRequest& q) { return evaluate_images(e, of.image(), q); },
      [](ImageEvaluation result) {
        std::string text = json_text(to_json(result));
        return nb::make_tuple(std::move(text), to_numpy(std::move(result.logits)),
                              to_numpy(std::move(result.confusion)));
      },
      true);
  answer<EvaluationRequest>(
      run, "evaluate_text",
      [](const Engine& e, Run& of, const EvaluationRequest& q) { return evaluate_text(e, of.language(), q); }, true);
  answer<PageRequest>(run, "page", [](const Engine& e, Run& of, const PageRequest& q) { return write_page(e, of, q); });
  answer<ExportRequest>(run, "export",
                        [](const Engine& e, Run& of, const ExportRequest& q) { return export_run(e, of, q); });
  describe<ReadabilityRequest>("readability");
  m.def("described", [] { return json_text(described()); });
  m.def("readability", &readability_json, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
  m.def("runs", &runs_list, nb::arg("fields"), nb::arg("talk").none());
  m.def("gates_figure", &gates_chart, nb::arg("c"), nb::arg("lam"), nb::arg("p"));
  m.def("svg_to_png", &png_of, nb::arg("svg"), nb::arg("scale"));
}

}  // namespace glint::python
