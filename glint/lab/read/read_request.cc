#include "glint/lab/read/read_request.h"

#include "glint/model/form.h"

namespace glint {

std::vector<Field> layer_fields(std::optional<size_t>& layer, std::string& form, const std::string& form_help) {
  return {Field("layer", layer, "Which layer, from 1 on; default: the last").range(1, 1000),
          Field("form", form, form_help).one_of(form_words())};
}

Field out_field(std::string& out, const std::string& help) { return Field("out", out, help).directory(); }

Field figures_field(bool& figures) { return Field("figures", figures, "Write no figures"); }

std::vector<Field> fields_of(ReadRequest& q) {
  const std::vector<Field> own = {
      Field("inputs", q.inputs,
            "Language models: a sparse autoencoder of what the layer reads; shows which pairs of its latents "
            "make an output")
          .directory()
          .language(),
      Field("pairs", q.pairs, "How many pairs of `inputs`").range(1, 100000).language(),
      Field("strongest", q.strongest,
            "Store only the K strongest eigenpairs of each unit, which is much faster for wide layers; 0: all")
          .range(0, 1000000),
      Field("show", q.show, "How many eigenvectors of each sign are shown").range(1, 32),
      Field("near", q.near, "Language models: how many tokens stand for an eigenvector").range(1, 100).language(),
      Field("passages", q.passages,
            "Language models: passages in which each eigenvector, and a hidden unit, is strongest; looked for "
            "in `text`, else in what the model is measured on")
          .range(0, 100)
          .language(),
      Field("passage_tokens", q.passage_tokens, "Language models: how many tokens passages are looked for in; 0: all")
          .range(0, 1e12)
          .language(),
      Field("controls", q.controls,
            "What is measured beside the eigenvectors: none, nothing, which is fastest; linear: how far each "
            "form is the layer, and how far a linear map is; all: an untrained model too")
          .one_of({"none", "linear", "all"}),
      figures_field(q.figures),
      out_field(q.out,
                "Folder for spectra.safetensors, figures or the scan; default: the run itself, for a model of "
                "another program NAME-reading here")};
  return join(join(fields_of(q.source), layer_fields(q.layer, q.form)), join(fields_of(q.along), own));
}

std::vector<Field> fields_of(ScanRequest& q) {
  return join(join(fields_of(q.source), layer_fields(q.layer, q.form)),
              join(autoencoder_fields(q.sae, q.side, q.sae_reads),
                   {out_field(q.out,
                              "Folder for the list; default: the run itself, for a model of another "
                              "program NAME-reading here")}));
}

}  // namespace glint
