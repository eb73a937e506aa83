// glint import: a classifier that another program trained becomes a run.
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/verbs.h"
#include "glint/data/dataset.h"
#include "glint/lab/models/import.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct ImportFlags : ImportRequest {
  std::string image, names;
};

// "28x28".
void read_image_size(const std::string& text, ImportRequest& q) {
  const size_t x = text.find('x');
  const auto number = [&](const std::string& part) -> size_t {
    if (part.empty() || part.size() > 4 || part.find_first_not_of("0123456789") != part.npos) return 0;
    return std::stoul(part);
  };
  q.height = number(text.substr(0, x)), q.width = x == text.npos ? 0 : number(text.substr(x + 1));
  if (q.height == 0 || q.width == 0)
    bad_argument("--image", "cannot read the size '" + text + "'", "height and width, as in 28x28");
}

void import_weights(Context& context, ImportFlags o) {
  if (!o.image.empty()) read_image_size(o.image, o);
  for (size_t at = 0; at < o.names.size();) {
    const size_t comma = std::min(o.names.find(',', at), o.names.size());
    o.class_names.push_back(o.names.substr(at, comma - at));
    at = comma + 1;
  }
  if (o.out.empty()) bad_argument("--out", "where shall the run go?", "a folder that is not there yet");
  const ImportResult r = import_classifier(engine_of(context), o);
  context.next = {"glint model " + r.run, "glint spectrum " + r.run + " --data NAME"};
  if (context.shared.json) return context.print_json(to_json(r));
  context.out << "run:   " << r.run << " (" << r.text << ")\n\n";
  Table table({{.header = "tensor of the file"}, {.header = "here"}, {.header = ""}});
  for (const ImportResult::Tensor& t : r.tensors) table.add({t.from, t.to, t.transposed ? "transposed" : ""});
  context.out << table.terminal(result_columns());
}

}  // namespace

void add_import(Program& program) {
  Verb& verb = program.add(
      {.name = "import",
       .group = Group::prepare,
       .summary = "make a run of a classifier that another program trained",
       .details = "WEIGHTS is a safetensors file with an embedding, GLU layers and a head. Names are understood "
                  "with any prefix (model.embed.weight), layers as one tensor with the gated half first "
                  "(blocks.0.weight) or as two (blocks.0.left.weight, gate_proj, w1; right, up_proj, w3), matrices "
                  "as [out, in] or transposed. Sizes follow from the shapes. What the weights do not tell, the "
                  "gate, a residual and norms, is said by options. The run has no record of a training, and shows "
                  "none.",
       .examples = {{"glint import weights.safetensors --gate identity --image 28x28 --out runs/theirs",
                     "a bilinear model of images"},
                    {"glint import net.safetensors --gate silu --data mnist --image 28x28 --out runs/net",
                     "measured on MNIST from now on"}}});
  const auto o = std::make_shared<ImportFlags>();
  verb.add(Field("weights", o->weights, "A safetensors file").file().argument("WEIGHTS").required());
  verb.add(Field("gate", o->gate, "The gate of its layers").one_of(gate_names()));
  verb.add(
      Field("image", o->image, "Height and width of the images that it reads; default: plain vectors").shown("HxW"));
  verb.add(Field("residual", o->residual, "Layers add to what they read"));
  verb.add(Field("rms_norm", o->rms_norm, "Layers read through an RMS norm without weights"));
  verb.add(Field("data", o->data, "The data set that it was trained on, for measuring")
               .shown("NAME")
               .suggest(dataset_names()));
  verb.add(Field("classes", o->names, "Names of the classes, with commas between").shown("NAMES"));
  verb.add(Field("out", o->out, "The run directory to make").directory());
  verb.share({"json", "quiet"});
  verb.run([o](Context& context) { import_weights(context, *o); });
}

}  // namespace glint::cli
