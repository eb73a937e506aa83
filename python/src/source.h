// What to open and the data to measure on, from Python into any request that has them.
#pragma once

#include "data.h"
#include "fields.h"
#include "glint/lab/models/run.h"

namespace glint::python {

// `request` is a RunSource, or a request with the same members; what it lacks is not asked for.
template <class Request>
void set_source(const Fields& fields, nb::handle data, Request& request) {
  fields.text("run", request.run);
  fields.text("data", request.data);
  if constexpr (requires { request.data_dir; }) fields.text("data_dir", request.data_dir);
  if constexpr (requires { request.refine; }) fields.flag("refine", request.refine);
  if constexpr (requires { request.tokenizer; }) fields.text("tokenizer", request.tokenizer);
  if constexpr (requires { request.expert; }) fields.text("expert", request.expert);
  if constexpr (requires { request.tokens; }) fields.count("measured_tokens", request.tokens);
  if constexpr (requires { request.images; }) request.images = images_of(data);
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
