#include "glint/train/options.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/range.h"

namespace glint {
namespace {

// The name of a gate or of an alias of it; the Error points to `where`.
std::string gate_name(const std::string& word, const std::string& where) {
  try {
    return std::string(gate_info(parse_gate(word)).text.name);
  } catch (const Error& e) {
    ErrorParts parts = e.parts();
    parts.where = where;
    throw Error(parts);
  }
}

}  // namespace

std::vector<Field> fields_of(TrainOptions& o) {
  constexpr double kMany = 1e9;
  return join(
      {
          Field("data", o.data,
                "mnist, fashion-mnist, glyphs (built in), a folder of IDX files; stories: tales (built in) or a "
                "folder with a tokenized corpus"),
          Field("noise-std", o.noise_std, "standard deviation of the normal noise on pixels (pixels are 0 to 1)")
              .range(0, 100)
              .images(),
          Field("noise-prob", o.noise_prob, "share of the samples that get noise, drawn anew each epoch")
              .range(0, 1)
              .images(),
          Field("drop-last", o.drop_last, "leave out the last batch of an epoch when it is not full"),
          Field("gate", o.gate, "the gate of the GLU layers").one_of(gate_names()),
          Field("c", o.c, "shift of SQS").range(-1e6, 1e6),
          Field("lambda", o.lambda, "shrink of SQS").range(0, 1e6),
          Field("p", o.p, "sharpness of the shrink of SQS").range(kAboveZero, 1e3),
          Field("layers", o.layers, "GLU layers").range(1, 64),
          Field("d-model", o.d_model, "width of the embedding").range(1, 16384),
          Field("d-hidden", o.d_hidden, "width of the GLU layers; 0: the width of the embedding").range(0, 16384),
          Field("bias", o.bias, "biases in every layer").images(),
          Field("residual", o.residual, "each GLU layer adds to its input").images(),
          Field("norm", o.norm, "normalise the input of each GLU layer").one_of({"none", "rms"}).images(),
          Field("heads", o.heads, "stories: heads of the attention").range(1, 1024).language(),
          Field("init", o.init, "stories: a model to go on from, of glint or another program; its shape counts")
              .file("MODEL")
              .language(),
          Field("distil", o.distil,
                "stories: share of the target that is what the model of `init` says, not the next token")
              .range(0, 1)
              .language(),
          Field("context", o.context, "stories: the most tokens of a story; the rest is cut")
              .range(kMinContext, kMaxContext)
              .language(),
          Field("batch", o.batch, "samples per step").range(1, 1e6),
          Field("micro-batch", o.micro_batch, "stories: how many of a step are in memory at once")
              .range(1, 4096)
              .language(),
          Field("epoch-stories", o.epoch_stories, "stories of an epoch, other ones in each; 0: all")
              .range(0, 1e12)
              .language(),
          Field("epochs", o.epochs, "passes over the training set").range(1, 1e5),
          Field("lr", o.lr, "learning rate of AdamW").range(0, 10),
          Field("beta1", o.beta1, "decay of the first moment").range(0, 0.999999),
          Field("beta2", o.beta2, "decay of the second moment").range(0, 0.999999),
          Field("eps", o.eps, "added to the root of the second moment").range(0, 1),
          Field("weight-decay", o.weight_decay, "decoupled decay of every matrix").range(0, 100),
          Field("clip", o.clip, "largest norm of the gradient; 0: no clipping").range(0, kMany),
          Field("schedule", o.schedule, "of the learning rate").one_of({"cosine-epoch", "cosine-step", "constant"}),
          Field("warmup", o.warmup, "steps over which the learning rate rises from 0").range(0, kMany),
          Field("precision", o.precision, "of the matrix products; weights are always kept in f32")
              .one_of({"f32", "bf16"}),
          Field("seed", o.seed, "fixes initialisation, order and noise"),
          Field("eval-steps", o.eval_steps, "test also at this many log-spaced steps, for curves; 0: once per epoch")
              .range(0, 10000),
          Field("eval-first", o.eval_first, "test also after each of the first so many steps").range(0, 1e6),
      },
      fields_of(o.shape));
}

bool applies(const Field& option, const TrainOptions& options) {
  return option.who == For::all || (option.who == For::language) == options.text;
}

bool means_something(std::string_view option, const TrainOptions& options) {
  if (option != "c" && option != "lambda" && option != "p") return true;
  if (!gate_info(parse_gate(options.gate)).text.has_params) return false;
  return option != "p" || options.lambda > 0;
}

void set_option(const Field& option, std::string_view text, const std::string& where) {
  set_field(option, option.name == "gate" ? gate_name(std::string(text), where) : std::string(text), where);
}

Json options_to_json(const TrainOptions& options) {
  TrainOptions copy = options, usual;
  std::vector<Field> fields = fields_of(copy);
  const std::vector<Field> defaults = fields_of(usual);
  const std::vector<Field> shape = fields_of(usual.shape);
  // What few runs have is said only of those.
  const auto rare = [&](const Field& f) {
    return find_field(shape, f.name) || f.name == "init" || f.name == "distil" || f.name == "epoch-stories";
  };
  std::erase_if(fields, [&](const Field& f) {
    return !applies(f, options) || (rare(f) && field_json(f) == field_json(*find_field(defaults, f.name)));
  });
  return fields_json(fields);
}

TrainOptions options_from_json(const Json& json, const std::string& where) {
  const JsonFields an_object(json, where, "options");
  TrainOptions options;
  options.text = an_object.has("context");
  try {
    set_fields(fields_of(options), json);
  } catch (const Error& e) {  // what is wrong is in the file
    ErrorParts parts = e.parts();
    parts.code = ErrorCode::bad_file, parts.where = where;
    throw Error(parts);
  }
  return options;
}

void check(const TrainOptions& o) {
  if (o.distil > 0 && o.init.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "`distil` without a model to learn from",
                 .where = "distil",
                 .expected = "`init`, the model whose words count"});
  if (o.gate != Sqs::text.name) return;
  check(GateParams{o.c, o.lambda, o.p});
}

ClassifierConfig classifier_config(const TrainOptions& o, size_t inputs, size_t classes) {
  ClassifierConfig c;
  c.inputs = inputs;
  c.classes = classes;
  c.layers = o.layers;
  c.d_model = o.d_model;
  c.d_hidden = o.d_hidden;
  c.gate = {parse_gate(o.gate), {o.c, o.lambda, o.p}};
  c.bias = o.bias;
  c.residual = o.residual;
  c.norm = o.norm == "rms" ? Norm::rms : Norm::none;
  check(c);
  return c;
}

TransformerConfig transformer_config(const TrainOptions& o, size_t vocab) {
  TransformerConfig c{.vocab = vocab,
                      .layers = o.layers,
                      .d_model = o.d_model,
                      .d_hidden = o.d_hidden,
                      .heads = o.heads,
                      .context = o.context,
                      .gate = {parse_gate(o.gate), {o.c, o.lambda, o.p}},
                      .shape = o.shape};
  check(c);
  return c;
}

}  // namespace glint
