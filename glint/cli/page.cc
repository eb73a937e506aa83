// glint page: one HTML file in which a person sees why a model decides as it does.
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/target.h"
#include "glint/cli/verbs.h"
#include "glint/lab/publish/page.h"

namespace glint::cli {
namespace {

void report_text(Context& context, const PageResult& r) {
  std::ostringstream out;
  out << "page:     " << r.page << " (" << fixed_text(static_cast<double>(r.bytes) / 1e6, 1)
      << " MB; open it in a browser)\n";
  for (const PageRunResult& run : r.runs) {
    for (const PageFormResult& f : run.forms) {
      out << "reading:  " << printable(run.name) << ", " << f.name << ": ";
      if (!r.language)
        out << "decides as the model on " << fixed_text(100 * f.fidelity.agreement, 1) << " % of the test images, ";
      out << "R2 ";
      if (!r.language)
        out << fixed_text(f.fidelity.r2, 3) << ", even share of the layer " << fixed_text(f.fidelity.even_share, 3);
      for (size_t i = 0; i < f.layers.size(); i++)
        out << (i ? ", " : "") << fixed_text(f.layers[i].trust.r2, 3) << " in layer " << f.layers[i].layer;
      out << "\n";
    }
    for (size_t i = 0; i < run.controls.size(); i++) {
      const Controls& c = run.controls[i];
      const auto words = [&](const Fidelity& f) {
        return (r.language ? "" : fixed_text(100 * f.agreement, 1) + " %, ") + "R2 " + fixed_text(f.r2, 3);
      };
      out << "controls: " << printable(run.name)
          << (r.language ? ", layer " + std::to_string(run.forms[0].layers[i].layer) : std::string())
          << ": the best linear map " << words(c.linear);
      for (const auto& [form, f] : c.untrained) out << "; untrained, " << name(form) << " " << words(f);
      out << "\n";
    }
  }
  if (r.half)
    out << "weights:  f16, so that the page is not too large; logits change by at most "
        << fixed_text(r.logit_deviation, 4) << "\n";
  context.out << prose(out.str(), result_columns());
}

void make(Context& context, const PageRequest& request) {
  if (!request.out.empty()) check_target(request.out, ".html", "--out", "the page");
  const PageResult r = write_page(engine_of(context), request);
  context.shared.json ? context.print_json(to_json(r)) : report_text(context, r);
}

}  // namespace

void add_page(Program& program) {
  Verb& verb = program.add(
      {.name = "page",
       .group = Group::read,
       .summary = "one HTML file in which a person sees why",
       .details =
           "Writes the explorer: draw a digit and see which eigenvectors of the weights speak for which "
           "class, and how far to trust that; the spectra; the training. With a second run, both side by "
           "side. Of a language run: choose a layer and a token and see the spectrum and the tokens of its "
           "eigenvectors; type a sentence and see which of them fire at each word. The file holds everything "
           "and needs no network.\n\n"
           "A language model of another program is too large for that, and so are two: their page holds "
           "chosen layers and tokens, the words of each eigenvector, and the passages of a text in which it "
           "is strongest; it opens on the eigenvector with the clearest words. Chosen sentences can be looked at "
           "token by token: what the model expects, what each part adds to that, and the eigenvectors of the "
           "GLUs that add most. It says what was left out.",
       .examples = {
           {"glint page runs/first", "writes runs/first/explorer.html"},
           {"glint page runs/sqs runs/bilinear --out both.html", "two runs compared"},
           {"glint page runs/tales --out tales.html", "a language run"},
           {"glint page stories15M.bin --layers 1,3,6 --token happy,sad,dog --text stories.txt",
            "a model of another program, read on a text"},
           {"glint page SmolLM2-135M-Instruct.Q4_1.gguf --layers 10,18 --token Monday --sentence \"The capital of "
            "France is\"",
            "a sentence, token by token"}}});
  const auto o = std::make_shared<PageRequest>();
  verb.add(fields_of(*o));
  verb.share_engine();
  verb.run([o](Context& context) { make(context, *o); });
}

}  // namespace glint::cli
