// glint spectrum: what a trained model's weights say, unit by unit, and how far to trust it.
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/given.h"
#include "glint/cli/language_view.h"
#include "glint/cli/output.h"
#include "glint/cli/prose.h"
#include "glint/cli/ranks.h"
#include "glint/cli/reading_options.h"
#include "glint/cli/spectrum_view.h"
#include "glint/cli/verbs.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_layers.h"
#include "glint/lab/work/file_words.h"

namespace glint::cli {
namespace {

struct SpectrumFlags {
  RunSource reading;
  ReadRequest request;
  std::string draw = "auto", text;
  bool scan = false, all_layers = false, no_figures = false;
  PieceSharing sharing;
  std::vector<GivenOption> for_images, for_language, for_spectra;  // spectra: not with --scan
};

// What a worker says that found nothing more to take.
std::string left_to_others(size_t left, const std::string& what) {
  return prose(
      "Nothing is left to take; other workers still have " + std::to_string(left) + " " + what +
          ". When they have ended the same command without --join makes the result; with --wait it waits for "
          "them.\n",
      result_columns());
}

void all_layers(Context& context, const Engine& engine, Run& run, const SpectrumFlags& o,
                const ReadRequest& reading) {
  const ReadLayersResult r = read_layers(engine, run, {.reading = reading, .figure = !o.no_figures});
  context.next = {"glint spectrum " + shell_word(r.run) + " --layer N with the same direction", kHelpReading};
  if (context.shared.json) return context.print_json(to_json(r));
  context.out << layers_table(r).terminal(result_columns()) << "\n"
              << prose("R2 of each form over " + r.asked +
                           ", of its eigenvectors alone where there is a linear part beside them, and of the "
                           "control, a linear map of the layer's input.\nfiles: " +
                           r.csv + (r.figure.empty() ? "" : ", " + r.figure) + "\n",
                       result_columns());
}

// SpectrumFlags of the other kind of model, and beside --scan, are refused rather than ignored.
void check_options(const SpectrumFlags& o, bool language) {
  if (o.sharing.join && !o.scan)
    throw Error({.code = ErrorCode::usage,
                 .what = "--join shares the tokens of a scan",
                 .where = "--join",
                 .expected = "--scan"});
  if (o.scan && o.all_layers)
    throw Error({.code = ErrorCode::usage,
                 .what = "--scan reads every token of one layer",
                 .where = "--all-layers",
                 .expected = "one of the two"});
  if (o.sharing.wait && !o.sharing.join)
    throw Error({.code = ErrorCode::usage, .what = "--wait needs --join", .where = "--wait"});
  if (!language) {
    refuse_given(o.for_language, "is for language models", o.reading.run, "--unit with a class");
    return;
  }
  refuse_given(o.for_images, "is for image models", o.reading.run,
               "--token, --direction, --hidden or --scan, with their options");
  if (!o.reading.data_dir.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "--data-dir is for image data",
                 .where = o.reading.run,
                 .expected = "--data DIR, a folder that glint tokenize made"});
  if (o.scan)
    refuse_given(o.for_spectra, "has no effect beside --scan, which lists all directions", "--scan",
                 "--scan alone, with --sae, --layer, --form and --out");
}

void spectrum(Context& context, SpectrumFlags o) {
  take_text(o.reading.data, o.text);
  if (o.scan && !context.ranks.start().first()) context.shared.quiet = true;
  const Engine engine = engine_of(context);
  o.reading.expert = o.request.expert;
  const std::unique_ptr<Run> run = open_run(engine, o.reading);
  const bool language = run->kind() == ModelKind::language;
  check_options(o, language);
  if (o.scan) {
    const ScanResult result = scan(engine, run->language(),
                                   {.layer = o.request.layer,
                                    .form = o.request.form,
                                    .sae = o.request.sae,
                                    .side = o.request.side,
                                    .sae_reads = o.request.sae_reads,
                                    .out = context.shared.out,
                                    .sharing = o.sharing});
    if (!engine.group().first()) return;
    if (result.left) {
      context.out << left_to_others(result.left, "pieces");
      return;
    }
    if (context.shared.json) return context.print_json(to_json(result));
    context.out << prose(scan_text(result), result_columns());
    return;
  }
  ReadRequest request = o.request;
  request.data = o.reading.data, request.out = context.shared.out, request.figures = !o.no_figures;
  if (o.all_layers) return all_layers(context, engine, *run, o, request);
  const ReadResult result = read(engine, *run, request);
  if (!language) context.next.push_back("glint explain " + result.run + " --index 0");
  if (!language || !run->language().foreign()) context.next.push_back("glint page " + result.run);
  context.next.push_back(kHelpReading);
  if (context.shared.json) return context.print_json(to_json(result));
  context.out << prose(
      language ? language_text(result) : spectrum_text(result, detect_drawing(detect_terminal(1), o.draw)),
      result_columns());
}

}  // namespace

void add_spectrum(Program& program) {
  Verb& verb = program.add(
      {.name = "spectrum",
       .group = Group::read,
       .summary = "the eigenvectors of a trained model's weights, and their worth",
       .details =
           "Each output of a gated layer is read as a quadratic form of the layer's input and taken apart "
           "into eigenvectors: those with positive eigenvalues speak for the output, those with negative "
           "ones against it. The form `weights` is the weights alone, with the gate taken as the identity, or "
           "as half of it for relu, gelu and silu: exactly the layer's even part. `scaled` gives each hidden "
           "unit a gain that shrinks with the size of the layer's input: purely quadratic, so the "
           "eigenvectors are all there is. `calibrated` gives each unit a line measured on training data, "
           "whose shifts add a linear part. `auto` is scaled for gates that are odd (sqs, identity), "
           "calibrated for others. How well each form follows the model is always shown.\n\n"
           "Image models: the outputs are classes, eigenvectors are pictures. Below the last layer the "
           "strongest eigenvector of the layer above, or the one that --via names, is the output.\n\n"
           "Language models: any layer by itself, with what it adds to the residual stream along a token's "
           "unembedding (--token), along a sum of tokens (--direction) or along a vector of your own "
           "(--hidden FILE.npy) as the output, or the gated product of one hidden unit (--hidden N), or a "
           "latent of a sparse autoencoder (--sae DIR --latent N). --from-layer N reads along an eigenvector "
           "of a later layer. A token is a word, a piece as glint prints it, or #ID. Eigenvectors are shown "
           "as the tokens nearest to them, and how much they explain without the linear part. --all-layers "
           "reads every layer. --scan lists every token (with --sae every latent); under mpirun and with "
           "--join processes share them, and what was stopped goes on.\n\n"
           "Models of other programs (glint model) are read as language models, with the norm before a GLU "
           "folded into its weights. --text FILE is what they are measured on: the stories of a text, "
           "separated by <|endoftext|>, calibrate and measure by turns. Without it these are the built-in "
           "tales.",
       .examples = {
           {"glint spectrum runs/first", "all classes; figures in runs/first/figures"},
           {"glint spectrum runs/sqs --unit 3-5 --form weights", "class 3 against class 5, weights alone"},
           {"glint spectrum runs/deep --layer 1 --via 2 --unit trouser,coat",
            "below the second strongest eigenvector of the layer above"},
           {"glint spectrum runs/stories --layer 2 --token happy",
            "a language model: eigenvectors as their nearest tokens"},
           {"glint spectrum runs/stories --direction \"happy - sad\"",
            "what makes its last layer say happy rather than sad"},
           {"glint spectrum stories15M.bin --layer 6 --token happy", "a model of another program"},
           {"glint spectrum stories15M.bin --layer 6 --token happy --text stories.txt --passages 3",
            "the passages of a text in which each eigenvector is strongest"},
           {"glint spectrum stories15M.bin --all-layers --token happy",
            "how far each of its layers can be read"},
           {"glint spectrum stories15M.bin --layer 3 --token happy --from-layer 6 --eigenvector -1",
            "what makes the strongest eigenvector against happy in layer 6"},
           {"glint spectrum gemma-2-2b --layer 13 --sae saes/out --latent 17 --inputs saes/in",
            "which pairs of input latents make latent 17"},
           {"glint spectrum Mixtral-8x7B --layer 3 --expert 5 --token happy",
            "one expert of a mixture, from the weights alone"}}});
  const auto o = std::make_shared<SpectrumFlags>();
  add_reading_options(verb, o->reading);
  o->for_language = add_language_options(verb, o->reading, o->text);
  const auto images = [&](const char* flag, Option* option) { o->for_images.push_back({flag, option}); };
  const auto language = [&](const char* flag, Option* option) {
    o->for_language.push_back({flag, option});
    return option;
  };
  const auto spectra = [&](const char* flag, Option* option) { o->for_spectra.push_back({flag, option}); };
  images("--unit", verb.text("--unit", o->request.unit,
                             "Images: 3, a name, 3-5 (3 against 5), 5..9, lists with commas, or all",
                             {.placeholder = "UNITS", .words = {"all"}}));
  verb.size("--layer", o->request.layer, 1, 1000, "Which layer, from 1 on; default: the last");
  spectra(
      "--expert",
      language("--expert", verb.text("--expert", o->request.expert,
                                     "Mixtures of experts: which expert of the layer, from 1 on, or shared",
                                     {.placeholder = "N", .words = {"shared"}})));
  verb.choice("--form", o->request.form, form_words(), "The form that is drawn and stored");
  verb.choice("--controls", o->request.controls, {"none", "linear", "all"},
              "What is measured beside the eigenvectors: none, nothing, which is fastest; linear: how far each "
              "form is the layer, and how far a linear map is; all: an untrained model too");
  spectra("--top", verb.size("--top", o->request.top, 0, 1000000,
                             "Store only the K strongest eigenpairs of each unit, which is much faster for "
                             "wide layers; 0: all"));
  images("--via", verb.text("--via", o->request.via,
                            "Images, below the last layer: rank of the eigenvector above, one per layer",
                            {.placeholder = "K[,K]"}));
  spectra("--show",
          verb.size("--show", o->request.show, 1, 32, "How many eigenvectors of each sign are shown"));
  spectra("--token", language("--token", verb.text("--token", o->request.token,
                                                   "Language models: tokens as outputs, with commas between",
                                                   {.placeholder = "WORDS"})));
  spectra("--direction",
          language("--direction",
                   verb.text("--direction", o->request.direction,
                             "Language models: a sum of tokens, \"happy - sad\"", {.placeholder = "WORDS"})));
  spectra("--hidden",
          language("--hidden",
                   verb.text("--hidden", o->request.hidden,
                             "Language models: N, the product gate(l) r of one hidden unit, from 1 on; or a "
                             ".npy file with a vector of width d-model, a direction of the residual stream",
                             {.placeholder = "N|FILE", .kind = Value::Kind::file})));
  language("--sae",
           verb.text("--sae", o->request.sae,
                     "Language models: a sparse autoencoder or transcoder (SAELens, circuit-tracer), "
                     "whose latents are outputs",
                     {.placeholder = "DIR", .kind = Value::Kind::directory}));
  spectra("--latent", language("--latent", verb.text("--latent", o->request.latent,
                                                     "Latents of --sae, from 0 on: 17, 3,8 or 0..9",
                                                     {.placeholder = "N"})));
  language("--side", verb.choice("--side", o->request.side, {"decoder", "encoder"},
                                 "Of a latent: what it writes, or what it looks for"));
  language("--sae-reads", verb.choice("--sae-reads", o->request.sae_reads, {"auto", "input", "output"},
                                      "What of this layer --sae reads; auto: what its file says"));
  spectra(
      "--inputs",
      language("--inputs", verb.text("--inputs", o->request.inputs,
                                     "Language models: a sparse autoencoder of what the layer reads; shows "
                                     "which pairs of its latents make an output",
                                     {.placeholder = "DIR", .kind = Value::Kind::directory})));
  spectra("--pairs", language("--pairs", verb.size("--pairs", o->request.pairs, 1, 100000,
                                                   "How many pairs of --inputs")));
  spectra("--from-layer",
          language("--from-layer", verb.size("--from-layer", o->request.from_layer, 1, 1000,
                                             "Language models: the outputs are of this later layer, and "
                                             "--layer is read along eigenvectors of their forms there")));
  spectra("--eigenvector",
          language("--eigenvector", verb.text("--eigenvector", o->request.eigenvector,
                                              "With --from-layer: +1 the strongest for, -1 the strongest "
                                              "against, or several: +1,-1",
                                              {.placeholder = "K[,K]"})));
  language(
      "--scan",
      verb.flag(
          "--scan", o->scan,
          "Language models: every token, or with --sae every latent, the most concentrated spectra first"));
  verb.flag("--all-layers", o->all_layers,
            "Read every layer, and show in one table and figure how far each can be trusted");
  verb.flag("--join", o->sharing.join,
            "With --scan: share the work with all others that do so in the same folder, on this "
            "machine or another");
  verb.flag("--wait", o->sharing.wait, "With --join: wait for the others, then make the result");
  spectra("--near",
          language("--near", verb.size("--near", o->request.near, 1, 100,
                                       "Language models: how many tokens stand for an eigenvector")));
  spectra("--passages",
          language("--passages", verb.size("--passages", o->request.passages, 0, 100,
                                           "Language models: passages in which each eigenvector, and "
                                           "a hidden unit, is strongest; looked for in --text, else "
                                           "in what the model is measured on")));
  spectra("--passage-tokens",
          language("--passage-tokens",
                   verb.size("--passage-tokens", o->request.passage_tokens, 0, 1000000000000,
                             "Language models: how many tokens passages are looked for in; 0: all")));
  images("--draw", verb.choice("--draw", o->draw, drawing_words(), "Images: how to draw in the terminal"));
  spectra("--no-figures", verb.flag("--no-figures", o->no_figures, "Write no figures"));
  verb.share_out(
      "Folder for spectra.safetensors, figures or the scan; default: the run itself, for a model of another "
      "program NAME-reading here");
  verb.share_threads();
  verb.share_isa();
  verb.share_linalg();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { spectrum(context, *o); });
}

}  // namespace glint::cli
