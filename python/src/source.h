// What to open and the data to measure on, from Python into any request that has them.
#pragma once

#include "data.h"
#include "fields.h"
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

// The same into a request that has those members; what it lacks is not asked for.
template <class Request>
void set_source(const RunSource& source, Request& request) {
  request.run = source.run, request.data = source.data;
  if constexpr (requires { request.data_dir; }) request.data_dir = source.data_dir;
  if constexpr (requires { request.refine; }) request.refine = source.refine;
  if constexpr (requires { request.tokenizer; }) request.tokenizer = source.tokenizer;
  if constexpr (requires { request.expert; }) request.expert = source.expert;
  if constexpr (requires { request.tokens; }) request.tokens = source.tokens;
  if constexpr (requires { request.images; }) request.images = source.images;
}

// The directions that a layer is read along: those of ReadRequest.
template <class Request>
void set_directions(const Fields& fields, Request& request) {
  fields.layer("layer", request.layer);
  fields.text("form", request.form);
  fields.text("unit", request.unit);
  fields.text("via", request.via);
  fields.text("token", request.token);
  fields.text("direction", request.direction);
  fields.text("hidden", request.hidden);
  if constexpr (requires { request.latent; }) {
    fields.text("sae", request.sae);
    fields.text("latent", request.latent);
    fields.text("side", request.side);
    fields.text("inputs", request.inputs);
    fields.count("pairs", request.pairs);
    fields.layer("from_layer", request.from_layer);
    fields.text("eigenvector", request.eigenvector);
  }
}

}  // namespace glint::python
