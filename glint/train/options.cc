#include "glint/train/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/range.h"

namespace glint {
namespace {

[[noreturn]] void refuse(const OptionSpec& spec, std::string_view text, const std::string& where,
                         const std::string& expected) {
  std::string parameter = spec.name;
  std::replace(parameter.begin(), parameter.end(), '-', '_');
  throw Error({.code = ErrorCode::usage,
               .what = "`" + parameter + "` cannot be '" + std::string(text) + "'",
               .where = where,
               .expected = expected});
}

std::string domain(const OptionSpec& spec, const char* kind) {
  return spec.low < spec.high ? range_text(spec.low, spec.high, kind) : kind;
}

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

template <class T>
T parse_number(const OptionSpec& spec, std::string_view text, const std::string& where, const char* kind) {
  T value{};
  const std::from_chars_result r = std::from_chars(text.data(), text.data() + text.size(), value);
  const double v = static_cast<double>(value);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || !std::isfinite(v) ||
      (spec.low < spec.high && (v < spec.low || v > spec.high)))
    refuse(spec, text, where, domain(spec, kind));
  return value;
}

}  // namespace

std::vector<OptionSpec> option_table(TrainOptions& o) {
  constexpr double kMany = 1e9;
  using For = OptionSpec::For;
  return {
      {"data", "Data",
       "mnist, fashion-mnist, glyphs (built in), a folder of IDX files; stories: tales (built in) or a "
       "folder with a tokenized corpus",
       &o.data},
      {"noise-std",
       "Data",
       "standard deviation of the normal noise on pixels (pixels are 0 to 1)",
       &o.noise_std,
       {},
       0,
       100,
       For::images},
      {"noise-prob",
       "Data",
       "share of the samples that get noise, drawn anew each epoch",
       &o.noise_prob,
       {},
       0,
       1,
       For::images},
      {"drop-last", "Data", "leave out the last batch of an epoch when it is not full", &o.drop_last},
      {"gate", "Model", "the gate of the GLU layers", &o.gate, gate_names()},
      {"c", "Model", "shift of SQS", &o.c, {}, -1e6, 1e6},
      {"lambda", "Model", "shrink of SQS", &o.lambda, {}, 0, 1e6},
      {"p", "Model", "sharpness of the shrink of SQS", &o.p, {}, kAboveZero, 1e3},
      {"layers", "Model", "GLU layers", &o.layers, {}, 1, 64},
      {"d-model", "Model", "width of the embedding", &o.d_model, {}, 1, 16384},
      {"d-hidden",
       "Model",
       "width of the GLU layers; 0: the width of the embedding",
       &o.d_hidden,
       {},
       0,
       16384},
      {"bias", "Model", "biases in every layer", &o.bias, {}, 0, 0, For::images},
      {"residual", "Model", "each GLU layer adds to its input", &o.residual, {}, 0, 0, For::images},
      {"norm", "Model", "normalise the input of each GLU layer", &o.norm, {"none", "rms"}, 0, 0, For::images},
      {"heads", "Model", "stories: heads of the attention", &o.heads, {}, 1, 1024, For::text},
      {"context",
       "Model",
       "stories: the most tokens of a story; the rest is cut",
       &o.context,
       {},
       kMinContext,
       kMaxContext,
       For::text},
      {"batch", "Training", "samples per step", &o.batch, {}, 1, 1e6},
      {"micro-batch",
       "Training",
       "stories: how many of a step are in memory at once",
       &o.micro_batch,
       {},
       1,
       4096,
       For::text},
      {"epochs", "Training", "passes over the training set", &o.epochs, {}, 1, 1e5},
      {"lr", "Training", "learning rate of AdamW", &o.lr, {}, 0, 10},
      {"beta1", "Training", "decay of the first moment", &o.beta1, {}, 0, 0.999999},
      {"beta2", "Training", "decay of the second moment", &o.beta2, {}, 0, 0.999999},
      {"eps", "Training", "added to the root of the second moment", &o.eps, {}, 0, 1},
      {"weight-decay", "Training", "decoupled decay of every matrix", &o.weight_decay, {}, 0, 100},
      {"clip", "Training", "largest norm of the gradient; 0: no clipping", &o.clip, {}, 0, kMany},
      {"schedule",
       "Training",
       "of the learning rate",
       &o.schedule,
       {"cosine-epoch", "cosine-step", "constant"}},
      {"warmup", "Training", "steps over which the learning rate rises from 0", &o.warmup, {}, 0, kMany},
      {"precision",
       "Training",
       "of the matrix products; weights are always kept in f32",
       &o.precision,
       {"f32", "bf16"}},
      {"seed", "Training", "fixes initialisation, order and noise", &o.seed},
      {"eval-steps",
       "Training",
       "test also at this many log-spaced steps, for curves; 0: once per epoch",
       &o.eval_steps,
       {},
       0,
       10000},
      {"eval-first",
       "Training",
       "test also after each of the first so many steps",
       &o.eval_first,
       {},
       0,
       1e6},
  };
}

bool applies(const OptionSpec& spec, const TrainOptions& options) {
  return spec.kind == OptionSpec::For::all || (spec.kind == OptionSpec::For::text) == options.text;
}

bool means_something(std::string_view option, const TrainOptions& options) {
  if (option != "c" && option != "lambda" && option != "p") return true;
  if (!gate_info(parse_gate(options.gate)).text.has_params) return false;
  return option != "p" || options.lambda > 0;
}

void set_option(const OptionSpec& spec, std::string_view text, const std::string& where) {
  if (std::string* const* s = std::get_if<std::string*>(&spec.value)) {
    std::string word(text);
    if (spec.name == "gate") word = gate_name(word, where);
    bool known = spec.choices.empty() && !word.empty();
    for (const std::string& c : spec.choices) known = known || c == word;
    if (!known)
      refuse(spec, text, where,
             spec.choices.empty() ? "at least one character" : suggest(text, spec.choices));
    **s = word;
  } else if (double* const* d = std::get_if<double*>(&spec.value)) {
    **d = parse_number<double>(spec, text, where, "a number");
  } else if (uint64_t* const* u = std::get_if<uint64_t*>(&spec.value)) {
    **u = parse_number<uint64_t>(spec, text, where, "a whole number");
  } else {
    if (text != "true" && text != "false") refuse(spec, text, where, "true or false");
    *std::get<bool*>(spec.value) = text == "true";
  }
}

Json options_to_json(const TrainOptions& options) {
  TrainOptions copy = options;
  Json json = Json::object();
  for (const OptionSpec& spec : option_table(copy))
    if (applies(spec, options)) std::visit([&](const auto* v) { json[spec.name] = *v; }, spec.value);
  return json;
}

TrainOptions options_from_json(const Json& json, const std::string& where) {
  TrainOptions options;
  const std::vector<OptionSpec> table = option_table(options);
  const JsonFields fields(json, where, "options");
  options.text = json.is_object() && json.contains("context");
  std::vector<std::string> names;
  for (const OptionSpec& spec : table) {
    names.push_back(spec.name);
    std::visit([&](auto* v) { *v = fields.optional<std::remove_pointer_t<decltype(v)>>(spec.name, *v); },
               spec.value);
    const auto out_of_range = [&](double v) {
      return spec.low < spec.high && !(v >= spec.low && v <= spec.high);
    };
    if (const double* const* d = std::get_if<double*>(&spec.value); d && out_of_range(**d))
      fields.fail(spec.name, "is out of range", domain(spec, "a number"));
    if (const uint64_t* const* u = std::get_if<uint64_t*>(&spec.value);
        u && out_of_range(static_cast<double>(**u)))
      fields.fail(spec.name, "is out of range", domain(spec, "a whole number"));
    if (const std::string* const* word = std::get_if<std::string*>(&spec.value);
        word && !spec.choices.empty() &&
        std::find(spec.choices.begin(), spec.choices.end(), **word) == spec.choices.end())
      fields.fail(spec.name, "is unknown", suggest(**word, spec.choices));
  }
  for (const auto& [key, value] : json.items())
    if (std::find(names.begin(), names.end(), key) == names.end())
      fields.fail(key, "unknown option", suggest(key, names));
  return options;
}

void check(const TrainOptions& o) {
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
                      .gate = {parse_gate(o.gate), {o.c, o.lambda, o.p}}};
  check(c);
  return c;
}

}  // namespace glint
