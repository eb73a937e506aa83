// Language models: why a token is expected, and the passages in which an eigenvector is strongest.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bind.h"
#include "call.h"
#include "errors.h"
#include "figures.h"
#include "glint/lab/read/explain_token.h"
#include "glint/lab/read/passages.h"
#include "json_text.h"
#include "source.h"

namespace glint::python {
namespace {

Matrix<double> matrix_of(const AnyArray& array) {
  const Rows rows = rows_of(array);
  if (array.ndim() != 2 || !holds<double>(array) || !rows.good)
    refuse("vectors", "not a matrix of float64", "[vectors, width]");
  const ConstMatrixView<double> view = view_of<double>(array, rows);
  Matrix<double> out(view.rows(), view.cols());
  for (size_t k = 0; k < view.rows(); k++) std::ranges::copy(view.row(k), out.view().row_ptr(k));
  return out;
}

nb::tuple explain_next(OpenRun& run, nb::dict values, nb::handle talk) {
  const Fields fields(values);
  ExplainRequest request;
  request.source = asked_source(run, fields);
  fields.text("text", request.prompt);
  fields.count("position", request.position);
  fields.text("token", request.token);
  fields.text("against", request.against);
  fields.text("layers", request.layers);
  fields.text("form", request.form);
  fields.count("show", request.show);
  fields.count("near", request.near);
  fields.text("out", request.out);
  request.figures = !request.out.empty();
  const ExplainTokenResult result = run.call(talk, request.source, [&](const Engine& engine, Run& of) {
    return explain_token(engine, of.language(), request);
  });
  nb::list trust;
  for (const ExplainedLayer& layer : result.layers) trust.append(trust_text(result, layer));
  return nb::make_tuple(json_text(to_json(result)), verdict_text(result), check_text(result),
                        path_text(result), trust,
                        figure_tuple("explain", logit_figure(explanation_figure(result))));
}

nb::tuple find_passages(OpenRun& run, nb::dict values, const AnyArray& vectors, nb::handle talk) {
  const Fields fields(values);
  PassagesRequest request;
  request.source = asked_source(run, fields);
  fields.text("text", request.source.text);  // a file, which the run is not measured on
  fields.texts("texts", request.texts);
  fields.layer("layer", request.layer);
  fields.reals("values", request.values);
  fields.counts("numbers", request.numbers);
  std::vector<uint64_t> hidden;
  fields.counts("hidden", hidden);
  request.hidden.assign(hidden.begin(), hidden.end());
  fields.count("count", request.count);
  fields.count("near", request.near);
  size_t most = kPassageTokens;
  fields.count("passage_tokens", most);
  request.tokens = most;
  request.vectors = matrix_of(vectors);
  const RunSource source = asked_source(run, fields);
  const PassagesResult result = run.call(
      talk, source, [&](const Engine& engine, Run& of) { return passages(engine, of.language(), request); });
  return nb::make_tuple(json_text(to_json(result)), passages_html(result));
}

// The tokens along every vector, and against it.
std::string near_json_of(OpenRun& run, const AnyArray& vectors, size_t count) {
  const Matrix<double> wanted = matrix_of(vectors);
  return run.look([&](Run& of) {
    nb::gil_scoped_release release;
    OrderedJson all = OrderedJson::array();
    if (!of.language().has_tokenizer()) return json_text(all);  // tokens have no text
    for (const NearTokens& n : near_tokens(of.language(), wanted.view(), count))
      all.push_back({{"along", near_json(n.along)}, {"against", near_json(n.against)}});
    return json_text(all);
  });
}

}  // namespace

void bind_tokens(nb::class_<OpenRun>& run) {
  run.def("explain_token", &explain_next, nb::arg("fields"), nb::arg("talk").none())
      .def("passages", &find_passages, nb::arg("fields"), nb::arg("vectors"), nb::arg("talk").none())
      .def("near", &near_json_of, nb::arg("vectors"), nb::arg("count"));
}

}  // namespace glint::python
