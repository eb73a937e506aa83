// Reading, explaining, ablating, attacking and comparing runs.
#include "glint/lab/read/read.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bind.h"
#include "call.h"
#include "figures.h"
#include "glint/lab/read/explain.h"
#include "glint/lab/read/read_layers.h"
#include "glint/lab/study/ablate.h"
#include "glint/lab/study/attack.h"
#include "glint/lab/study/attack_report.h"
#include "glint/lab/study/compare.h"
#include "json_text.h"
#include "source.h"

namespace glint::python {
namespace {

nb::list figure_list(const std::vector<FigureFile>& files) {
  nb::list out;
  for (const FigureFile& f : files)
    out.append(figure_tuple(f.stem.substr(f.stem.find_last_of('/') + 1), f.figure));
  return out;
}

// Pictures [n, h, w], or [n, inputs] where the samples are no pictures.
nb::object picture_array(const std::vector<const std::vector<double>*>& rows, const PictureSize& size) {
  const size_t count = rows.size(), width = count ? rows[0]->size() : 0;
  const bool pictures = !size.empty() && size.height * size.width == width;
  NewArray<double> out =
      new_array<double>(pictures || width == 0 ? std::vector<size_t>{count, size.height, size.width}
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

nb::tuple read_run(OpenRun& run, nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  ReadRequest request;
  const RunSource source = asked_source(run, fields, data);
  request.source = source;
  set_directions(fields, request);
  fields.text("controls", request.controls);
  fields.text("inputs", request.inputs);
  fields.count("pairs", request.pairs);
  fields.count("top", request.strongest);
  fields.count("show", request.show);
  fields.count("near", request.near);
  fields.text("out", request.out);
  request.spectra = request.figures = !request.out.empty();
  ReadResult result =
      run.call(talk, source, [&](const Engine& engine, Run& of) { return read(engine, of, request); });
  std::string text = json_text(to_json(result));
  nb::list directions;
  const nb::list figures = figure_list(read_figures(result));
  for (ReadDirection& d : result.directions) directions.append(direction_dict(d, result.size));
  return nb::make_tuple(std::move(text), directions, figures);
}

std::string scan_run(OpenRun& run, nb::dict values, nb::handle talk) {
  const Fields fields(values);
  ScanRequest request;
  const RunSource source = asked_source(run, fields);
  request.source = source;
  fields.layer("layer", request.layer);
  fields.text("form", request.form);
  fields.text("sae", request.sae);
  fields.text("out", request.out);
  return json_text(to_json(run.call(
      talk, source, [&](const Engine& engine, Run& of) { return scan(engine, of.language(), request); })));
}

nb::tuple read_all_layers(OpenRun& run, nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  ReadRequest request;
  const RunSource source = asked_source(run, fields, data);
  request.source = source;
  set_directions(fields, request);
  fields.text("controls", request.controls);
  fields.text("out", request.out);
  request.figures = false;
  const ReadLayersResult result =
      run.call(talk, source, [&](const Engine& engine, Run& of) { return read_layers(engine, of, request); });
  return nb::make_tuple(json_text(to_json(result)), figure_tuple("layers", figure_of(layers_chart(result))));
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

nb::tuple explain_input(OpenRun& run, nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  ExplainRequest request;
  const RunSource source = asked_source(run, fields, data);
  request.source = source;
  fields.count("index", request.index);
  fields.text("image", request.image);
  fields.text("split", request.split);
  fields.text("classes", request.unit);
  fields.text("form", request.form);
  fields.count("top", request.show);
  fields.flag("as_is", request.as_is);
  fields.text("out", request.out);
  request.figures = !request.out.empty();
  ExplainResult result = run.call(
      talk, source, [&](const Engine& engine, Run& of) { return explain(engine, of.image(), request); });
  nb::list classes;
  for (const ExplainedClass& c : result.shown) classes.append(explained_dict(c, result.size));
  nb::object figure = nb::none();
  if (!result.size.empty()) figure = figure_tuple("explain", explain_figure(explanation_figure(result)));
  std::string text = json_text(to_json(result));
  return nb::make_tuple(std::move(text), verdict_text(result), trust_text(result), classes, figure,
                        to_numpy(std::move(result.pixels)));
}

std::string ablate_run(OpenRun& run, nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  AblationRequest request;
  request.source = asked_source(run, fields, data);
  set_directions(fields, request);
  fields.text("remove", request.remove);
  size_t top = 0;
  fields.count("top", top);
  if (top) request.remove = "1.." + std::to_string(top);
  fields.real("scale", request.scale);
  fields.text("save", request.save);
  return json_text(to_json(run.call(
      talk, request.source, [&](const Engine& engine, Run& of) { return ablate(engine, of, request); })));
}

nb::tuple attack_run(OpenRun& run, nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  AttackRequest request;
  request.source = asked_source(run, fields, data);
  fields.text("unit", request.unit);
  fields.text("form", request.form);
  fields.count("terms", request.show);
  fields.count("images", request.images);
  fields.reals("strengths", request.strengths);
  fields.count("seed", request.seed);
  fields.text("out", request.out);
  request.figures = !request.out.empty();
  const Attack result = run.call(talk, request.source, [&](const Engine& engine, Run& of) {
    return attack(engine, of.image(), request);
  });
  const size_t units = result.results.size(), goals = std::size(kGoals), kinds = std::size(kMaskKinds);
  const size_t width = units ? result.results[0][0].masks[0].size() : 0;
  NewArray<float> masks = new_array<float>({units, goals, kinds, width});
  for (size_t u = 0; u < units; u++)
    for (size_t g = 0; g < goals; g++)
      for (size_t k = 0; k < kinds; k++)
        std::copy_n(result.results[u][g].masks[k].begin(), width,
                    masks.data + ((u * goals + g) * kinds + k) * width);
  return nb::make_tuple(json_text(to_json(result)), masks.array, result.height, result.width,
                        figure_list(draw_attack(result, "")));
}

nb::tuple compare_models(nb::dict values, nb::handle data, nb::handle talk) {
  const Fields fields(values);
  CompareRequest request;
  fields.texts("runs", request.runs);
  fields.text("control", request.control);
  fields.text("unit", request.unit);
  fields.text("form", request.form);
  fields.text("space", request.space);
  fields.layer("layer", request.layer);
  fields.text("token", request.token);
  fields.text("tokenizer", request.source.tokenizer);
  fields.text("data", request.source.data);
  fields.text("data_dir", request.source.data_dir);
  fields.count("top", request.show);
  fields.text("out", request.out);
  request.figures = !request.out.empty();
  request.source.images = images_of(data);
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
  run.def("read", &read_run, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none())
      .def("read_layers", &read_all_layers, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none())
      .def("scan", &scan_run, nb::arg("fields"), nb::arg("talk").none())
      .def("explain", &explain_input, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none())
      .def("ablate", &ablate_run, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none())
      .def("attack", &attack_run, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
  m.def("compare", &compare_models, nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
}

}  // namespace glint::python
