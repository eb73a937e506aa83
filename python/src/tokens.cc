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

nb::tuple explain_next(nb::dict values, nb::handle talk) {
  const Fields fields(values);
  ExplainTokenRequest request;
  set_source(fields, nb::none(), request.source);
  fields.text("text", request.text);
  fields.count("position", request.position);
  fields.text("token", request.token);
  fields.text("against", request.against);
  fields.text("layers", request.layers);
  fields.text("form", request.form);
  fields.count("show", request.show);
  fields.count("near", request.near);
  fields.text("out", request.out);
  request.figure = !request.out.empty();
  Call call(talk);
  const ExplainTokenResult result = call.run([&] { return explain_token(call.engine(), request); });
  nb::list trust;
  for (const ExplainedLayer& layer : result.layers) trust.append(trust_text(result, layer));
  return nb::make_tuple(json_text(to_json(result)), verdict_text(result), check_text(result),
                        path_text(result), trust,
                        figure_tuple("explain", logit_figure(explanation_figure(result))));
}

nb::tuple find_passages(nb::dict values, const AnyArray& vectors, nb::handle talk) {
  const Fields fields(values);
  PassagesRequest request;
  set_source(fields, nb::none(), request.source);
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
  const Rows rows = rows_of(vectors);
  if (vectors.ndim() != 2 || !holds<double>(vectors) || !rows.good)
    refuse("vectors", "not a matrix of float64", "[vectors, width]");
  const ConstMatrixView<double> view = view_of<double>(vectors, rows);
  request.vectors = Matrix<double>(view.rows(), view.cols());
  for (size_t k = 0; k < view.rows(); k++) std::ranges::copy(view.row(k), request.vectors.view().row_ptr(k));
  Call call(talk);
  const PassagesResult result = call.run([&] { return passages(call.engine(), request); });
  return nb::make_tuple(json_text(to_json(result)), passages_html(result));
}

}  // namespace

void bind_tokens(nb::module_& m) {
  m.def("explain_token", &explain_next, nb::arg("fields"), nb::arg("talk").none());
  m.def("passages", &find_passages, nb::arg("fields"), nb::arg("vectors"), nb::arg("talk").none());
}

}  // namespace glint::python
