// What to open and the data to measure on, from Python into any request that has them.
#pragma once

#include "data.h"
#include "fields.h"
#include "glint/lab/read/direction.h"
#include "open_run.h"

namespace glint::python {

// The run, with what a call asks of it beside: other data, an expert, about how many tokens.
inline RunSource asked_source(const OpenRun& run, const Fields& fields, nb::handle data = nb::none()) {
  RunSource source = run.source();
  if (!data.is_none()) source.images = images_of(data), source.data.clear();
  if (!fields.object("data").is_none()) source.images = nullptr;
  fields.text("data", source.data);
  fields.flag("refine", source.refine);
  fields.text("expert", source.expert);
  fields.count("measured_tokens", source.tokens);
  return source;
}

// The directions that a layer is read along, in the grammar of direction.h.
template <class Request>
void set_directions(const Fields& fields, Request& request) {
  fields.layer("layer", request.layer);
  fields.text("form", request.form);
  Along& along = request.along;
  const auto short_form = [&](const char* name, const std::string& prefix) {
    std::string text;
    fields.text(name, text);
    if (!text.empty()) along.directions.push_back((text.ends_with(".npy") ? "" : prefix) + text);
  };
  short_form("unit", "class:");
  short_form("token", "token:");
  short_form("direction", "");
  short_form("hidden", "hidden:");
  short_form("latent", "latent:");
  fields.text("via", along.via);
  fields.text("sae", along.sae);
  fields.text("side", along.side);
  fields.layer("from_layer", along.from_layer);
  fields.text("eigenvector", along.eigenvector);
}

}  // namespace glint::python
