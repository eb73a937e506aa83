// glint spectrum: what a trained model's weights say, unit by unit, and how far to trust it.
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/language_view.h"
#include "glint/cli/output.h"
#include "glint/cli/picture.h"
#include "glint/cli/ranks.h"
#include "glint/cli/spectrum_view.h"
#include "glint/cli/verbs.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_layers.h"
#include "glint/lab/work/file_words.h"

namespace glint::cli {
namespace {

struct SpectrumFlags {
  ReadRequest request;
  std::string draw = "auto";
  bool scan = false, all_layers = false;
  PieceSharing sharing;
};

// What a worker says that found nothing more to take.
std::string left_to_others(size_t left, const std::string& what) {
  return prose("Nothing is left to take; other workers still have " + std::to_string(left) + " " + what +
                   ". When they have ended the same command without --join makes the result; with --wait it waits for "
                   "them.\n",
               result_columns());
}

void all_layers(Context& context, const Engine& engine, Run& run, const ReadRequest& request) {
  const ReadLayersResult r = read_layers(engine, run, request);
  context.next = {"glint spectrum " + shell_word(r.run) + " --layer N with the same direction", kHelpReading};
  if (context.shared.json) return context.print_json(to_json(r));
  const std::string words =
      r.alone.empty()
          ? "R2 of each form over " + r.asked +
                ", of its eigenvectors alone where there is a linear part beside them, and of the "
                "control, a linear map of the layer's input." +
                (r.untrained.empty() ? ""
                                     : " redrawn: the " + name(r.form) + " form of " + r.untrained +
                                           ". Where it comes close, that a layer can be read comes with its shape; "
                                           "what the model has learned is what the eigenvectors say.")
          : "Eigenvalues of " + r.asked + ", " + name(r.form) + " form. Nothing was measured: " + r.alone + ".";
  context.out << layers_table(r).terminal(result_columns()) << "\n"
              << prose(words + "\nfiles: " + r.csv + (r.figure.empty() ? "" : ", " + r.figure) + "\n",
                       result_columns());
}

void check_options(const SpectrumFlags& o) {
  if (o.sharing.join && !o.scan) bad_argument("--join", "--join shares the tokens of a scan", "--scan");
  if (o.scan && o.all_layers) bad_argument("--all-layers", "--scan reads every token of one layer", "one of the two");
  if (o.sharing.wait && !o.sharing.join) bad_argument("--wait", "--wait needs --join", "");
}

// What a scan is asked for; options that it does not have are refused rather than ignored. It draws no figures
// in any case.
ScanRequest scan_request(ReadRequest request, const PieceSharing& sharing) {
  ReadRequest usual;
  ScanRequest out;
  const std::vector<Field> given = fields_of(request), defaults = fields_of(usual), known = fields_of(out);
  for (size_t i = 0; i < given.size(); i++)
    if (!find_field(known, given[i].name) && given[i].name != "figures" &&
        field_json(given[i]) != field_json(defaults[i]))
      bad_argument("--scan", "`" + given[i].name + "` has no effect beside --scan, which lists all directions",
                   "--scan alone, with --sae, --layer, --form and --out");
  copy_fields(given, known);
  out.sharing = sharing;
  return out;
}

void spectrum(Context& context, const SpectrumFlags& o) {
  check_options(o);
  if (o.scan && !context.ranks.start().first()) context.shared.quiet = true;
  const Engine engine = engine_of(context);
  const std::unique_ptr<Run> run = open_run(engine, o.request.source);
  const bool language = run->kind() == ModelKind::language;
  if (language) refuse_drawing(o.draw, run->directory());
  if (o.scan) {
    const ScanResult result = scan(engine, run->language(), scan_request(o.request, o.sharing));
    if (!engine.group().first()) return;
    if (result.left) {
      context.out << left_to_others(result.left, "pieces");
      return;
    }
    if (context.shared.json) return context.print_json(to_json(result));
    context.out << prose(scan_text(result), result_columns());
    return;
  }
  if (o.all_layers) return all_layers(context, engine, *run, o.request);
  const ReadResult result = read(engine, *run, o.request);
  if (!language) context.next.push_back("glint explain " + result.run + " --index 0");
  if (!run->foreign()) context.next.push_back("glint page " + result.run);
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
       .details = "Each output of a gated layer is read as a quadratic form of the layer's input and taken apart "
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
                  "unembedding (--token), along a sum of tokens (--direction WORDS) or along a vector of your own "
                  "(--direction FILE.npy) as the output, or the gated product of one hidden unit (--hidden N), or a "
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
           {"glint spectrum stories15M.bin --all-layers --token happy", "how far each of its layers can be read"},
           {"glint spectrum stories15M.bin --layer 3 --token happy --from-layer 6 --eigenvector -1",
            "what makes the strongest eigenvector against happy in layer 6"},
           {"glint spectrum gemma-2-2b --layer 13 --sae saes/out --latent 17 --inputs saes/in",
            "which pairs of input latents make latent 17"},
           {"glint spectrum Mixtral-8x7B --layer 3 --expert 5 --token happy",
            "one expert of a mixture, from the weights alone"}}});
  const auto o = std::make_shared<SpectrumFlags>();
  verb.add(fields_of(o->request));
  verb.add({Field("scan", o->scan,
                  "Language models: every token, or with --sae every latent, the most concentrated spectra first"),
            Field("all_layers", o->all_layers,
                  "Read every layer, and show in one table and figure how far each can be trusted"),
            Field("join", o->sharing.join,
                  "With --scan: share the work with all others that do so in the same folder, on this machine "
                  "or another"),
            Field("wait", o->sharing.wait, "With --join: wait for the others, then make the result"),
            draw_field(o->draw)});
  verb.share_engine();
  verb.run([o](Context& context) { spectrum(context, *o); });
}

}  // namespace glint::cli
