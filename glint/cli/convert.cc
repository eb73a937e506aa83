// glint convert: a trained model gets a gate that can be read, and learns from its old self.
#include <nlohmann/json.hpp>

#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/stop.h"
#include "glint/cli/training_view.h"
#include "glint/cli/verbs.h"
#include "glint/lab/study/convert.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

std::string convert_text(const ConvertResult& r) {
  std::string out = r.model + ": " + r.gate_before + " becomes " + r.gate_after + ", " +
                    std::to_string(r.tokens_trained) + " tokens of " + r.text + " in " + std::to_string(r.steps) +
                    " steps\n\n";
  Table losses(headers({"on stories that were held out"}, {"loss", "above the original"}));
  const auto add = [&](const std::string& what, double loss) {
    losses.add({what, fixed_text(loss, 4), fixed_text(loss - r.loss_original, 4)});
  };
  add("the original", r.loss_original);
  if (r.loss_control) add("the original, trained on the same tokens", *r.loss_control);
  add("the gate swapped, with gains", r.loss_swapped);
  add("converted", r.loss_converted);
  out += losses.terminal(result_columns());
  if (r.layers.empty()) return out + "\nrun: " + r.out + "\n";
  Table layers(headers({"layer", "form"}, {"R2 before", "after", "correlation before", "after"}));
  for (const ConvertedLayer& l : r.layers)
    layers.add({std::to_string(l.layer), l.form, fixed_text(l.r2_before, 3), fixed_text(l.r2_after, 3),
                fixed_text(l.correlation_before, 3), fixed_text(l.correlation_after, 3)});
  return out + "\nHow far the forms are the layers, along frequent tokens:\n\n" + layers.terminal(result_columns()) +
         "\nrun: " + r.out + "\n";
}

}  // namespace

void add_convert(Program& program) {
  Verb& verb = program.add(
      {.name = "convert",
       .group = Group::train,
       .summary = "give a trained language model a gate that can be read",
       .details = "The gate of MODEL is swapped, each hidden unit gets the gain that comes closest to what it was, and "
                  "the model learns the next token and, by --distil, what its old self says. Without --text or --data "
                  "it learns from stories that it writes itself. The result is a run like any other; a conversion that "
                  "was stopped goes on with the same command. Models in the shape of Llama can be converted: Llama, "
                  "Mistral without windows, Qwen2, Qwen3, SmolLM, and glint's own.",
       .examples = {{"glint convert stories15M.bin --out runs/readable", "SwiGLU becomes SQS, from its own stories"},
                    {"glint convert stories15M.bin --gate identity --text stories.txt --out runs/bilinear",
                     "a bilinear model, from a text"}}});
  const auto o = std::make_shared<ConvertRequest>();
  verb.add(fields_of(*o));
  verb.add(Field("force", o->force, "Remove the run that is in the directory and start anew"));
  verb.share_kernels();
  verb.run([o](Context& context) {
    const auto display = std::make_shared<Display>(context);
    const Engine engine = engine_of(context, display);
    TrainOptions shown;
    shown.text = true, shown.batch = o->batch;
    Telling telling(*display, 1, shown);
    const ConvertResult r = [&] {
      const StopOnSignal guard;
      return convert(engine, *o, telling.hooks());
    }();
    display->finish();
    context.next = {"glint page " + r.out, "glint spectrum " + r.out + " --token WORD", "glint generate " + r.out};
    context.shared.json ? context.print_json(to_json(r)) : void(context.out << convert_text(r));
  });
}

}  // namespace glint::cli
