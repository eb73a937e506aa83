// Reading, explaining, ablating, attacking and comparing runs.
#include "glint/lab/read/read.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "answers.h"
#include "arrays.h"
#include "bind.h"
#include "errors.h"
#include "figures.h"
#include "glint/lab/read/explain.h"
#include "glint/lab/read/explain_token.h"
#include "glint/lab/read/neurons.h"
#include "glint/lab/read/passages.h"
#include "glint/lab/read/read_layers.h"
#include "glint/lab/study/ablate.h"
#include "glint/lab/study/attack.h"
#include "glint/lab/study/compare.h"

namespace glint::python {
namespace {

// Pictures [n, h, w], or [n, inputs] where the samples are no pictures.
nb::object picture_array(const std::vector<const std::vector<double>*>& rows, const PictureSize& size) {
  const size_t count = rows.size(), width = count ? rows[0]->size() : 0;
  const bool pictures = !size.empty() && size.height * size.width == width;
  NewArray<double> out = new_array<double>(pictures || width == 0 ? std::vector<size_t>{count, size.height, size.width}
                                                                  : std::vector<size_t>{count, width});
  for (size_t i = 0; i < count; i++)
    if (rows[i]->size() == width) std::copy(rows[i]->begin(), rows[i]->end(), out.data + i * width);
  return out.array;
}

nb::object shown_pictures(const std::vector<ShownVector>& side, const PictureSize& size) {
  std::vector<const std::vector<double>*> rows;
  for (const ShownVector& v : side)
    if (!v.pixels.empty()) rows.push_back(&v.pixels);
  return picture_array(rows, size);
}

nb::dict direction_dict(ReadDirection& d, const PictureSize& size) {
  nb::dict out;
  out["name"] = d.name;
  out["constant"] = d.form.constant;
  out["positive"] = shown_pictures(d.positive, size);
  out["negative"] = shown_pictures(d.negative, size);
  out["linear_picture"] = d.linear_pixels.empty() ? nb::none() : picture_array({&d.linear_pixels}, size)[0];
  out["values"] = to_numpy(std::move(d.form.spectrum.values));
  out["vectors"] = to_numpy(std::move(d.form.spectrum.vectors));
  out["groups"] = to_numpy(std::move(d.form.spectrum.groups));
  out["linear"] = to_numpy(std::move(d.form.linear));
  return out;
}

nb::object read_answer(ReadResult result) {
  std::string text = json_text(to_json(result));
  nb::list directions;
  const nb::list figures = figure_list(read_figures(result));
  for (ReadDirection& d : result.directions) directions.append(direction_dict(d, result.size));
  return nb::make_tuple(std::move(text), directions, figures);
}

nb::dict explained_dict(const ExplainedClass& c, const PictureSize& size) {
  nb::dict out;
  out["name"] = c.name;
  out["logit"] = c.logit;
  out["positive"] = c.positive;
  out["negative"] = c.negative;
  out["linear"] = c.linear;
  out["beside"] = c.beside;
  out["rest"] = c.rest;
  nb::list terms;
  std::vector<const std::vector<double>*> pictures;
  for (const auto* side : {&c.forward, &c.against})
    for (const ExplainedTerm& t : *side) {
      nb::dict term;
      term["side"] = side == &c.forward ? "for" : "against";
      term["rank"] = t.rank;
      term["eigenvalue"] = t.eigenvalue;
      term["projection"] = t.projection;
      term["contribution"] = t.contribution;
      terms.append(term);
      pictures.push_back(&t.pixels);
    }
  out["terms"] = terms;
  out["pictures"] = picture_array(pictures, size);
  return out;
}

nb::object explain_answer(ExplainResult result) {
  nb::list classes;
  for (const ExplainedClass& c : result.shown) classes.append(explained_dict(c, result.size));
  nb::object figure = nb::none();
  if (!result.size.empty()) figure = figure_tuple("explain", explain_figure(explanation_figure(result)));
  std::string text = json_text(to_json(result));
  return nb::make_tuple(std::move(text), verdict_text(result), trust_text(result), classes, figure,
                        to_numpy(std::move(result.pixels)));
}

nb::object explain_token_answer(const ExplainTokenResult& result) {
  nb::list trust;
  for (const ExplainedLayer& layer : result.layers) trust.append(trust_text(result, layer));
  return nb::make_tuple(json_text(to_json(result)), verdict_text(result), check_text(result), path_text(result), trust,
                        figure_tuple("explain", logit_figure(explanation_figure(result))));
}

// Masks [classes, goals, kinds, height, width], or of vectors their width.
nb::object attack_answer(const Attack& result) {
  const size_t units = result.results.size(), goals = std::size(kGoals), kinds = std::size(kMaskKinds);
  const size_t width = units ? result.results[0][0].masks[0].size() : 0;
  const bool pictures = result.height * result.width == width && width > 0;
  NewArray<float> masks =
      new_array<float>(pictures ? std::vector<size_t>{units, goals, kinds, result.height, result.width}
                                : std::vector<size_t>{units, goals, kinds, width});
  for (size_t u = 0; u < units; u++)
    for (size_t g = 0; g < goals; g++)
      for (size_t k = 0; k < kinds; k++)
        std::copy_n(result.results[u][g].masks[k].begin(), width, masks.data + ((u * goals + g) * kinds + k) * width);
  return nb::make_tuple(json_text(to_json(result)), masks.array, figure_list(draw_attack(result, "")));
}

// The tokens along every vector, and against it; none without a tokenizer, which alone has their text.
std::string tokens_near(OpenRun& run, const AnyArray& vectors, size_t count) {
  const Matrix<double> wanted = matrix_of<double>(vectors, "vectors");
  return run.look([&](Run& of) {
    nb::gil_scoped_release release;
    OrderedJson all = OrderedJson::array();
    if (!of.language().has_tokenizer()) return json_text(all);
    for (const NearTokens& n : near_tokens(of.language(), wanted.view(), count))
      all.push_back({{"along", near_json(n.along)}, {"against", near_json(n.against)}});
    return json_text(all);
  });
}

nb::tuple compare_models(nb::handle values, nb::handle data, nb::handle talk) {
  const auto request = request_of<CompareRequest>(values, {}, data);
  Call call(talk);
  Comparison result = call.run([&] { return compare(call.engine(), request); });
  std::string text = json_text(to_json(result));
  const nb::list figures = figure_list(draw_comparison(result, ""));
  nb::list matrices;
  for (Matrix<double>& m : result.matrices) matrices.append(to_numpy(std::move(m)));
  return nb::make_tuple(std::move(text), matrices, result.unit_names, figures);
}

}  // namespace

void bind_read(nb::module_& m, nb::class_<OpenRun>& run) {
  answer<ReadRequest>(
      run, "read", [](const Engine& e, Run& of, const ReadRequest& q) { return read(e, of, q); }, read_answer);
  answer<ReadRequest>(
      run, "read_layers", [](const Engine& e, Run& of, const ReadRequest& q) { return read_layers(e, of, q); },
      [](const ReadLayersResult& result) {
        const nb::tuple figure = figure_tuple("layers", figure_of(layers_chart(result)));
        return nb::make_tuple(json_text(to_json(result)), nb::make_tuple(figure));
      });
  answer<ScanRequest>(run, "scan",
                      [](const Engine& e, Run& of, const ScanRequest& q) { return scan(e, of.language(), q); });
  answer<NeuronsRequest>(
      run, "neurons", [](const Engine& e, Run& of, const NeuronsRequest& q) { return neurons(e, of.language(), q); },
      [](const NeuronsResult& result) {
        return nb::make_tuple(json_text(to_json(result)), nb::make_tuple(figure_tuple("neurons", result.drawn)));
      });
  answer<ExplainRequest>(
      run, "explain", [](const Engine& e, Run& of, const ExplainRequest& q) { return explain(e, of.image(), q); },
      explain_answer);
  answer<ExplainRequest>(
      run, "explain_token",
      [](const Engine& e, Run& of, const ExplainRequest& q) { return explain_token(e, of.language(), q); },
      explain_token_answer);
  answer<AblationRequest>(run, "ablate",
                          [](const Engine& e, Run& of, const AblationRequest& q) { return ablate(e, of, q); });
  answer<AttackRequest>(
      run, "attack", [](const Engine& e, Run& of, const AttackRequest& q) { return attack(e, of.image(), q); },
      attack_answer);
  answer<PassagesRequest>(
      run, "passages", [](const Engine& e, Run& of, const PassagesRequest& q) { return passages(e, of.language(), q); },
      [](const PassagesResult& result) { return nb::make_tuple(json_text(to_json(result)), passages_html(result)); });
  run.def("near", &tokens_near, nb::arg("vectors"), nb::arg("count"));
  describe<CompareRequest>("compare");
  m.def("compare", &compare_models, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
}

}  // namespace glint::python
