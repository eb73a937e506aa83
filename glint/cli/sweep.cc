// glint sweep: a recipe with lists of values for its options, trained, read, and put side by side.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/sharing_options.h"
#include "glint/cli/stop.h"
#include "glint/cli/verbs.h"
#include "glint/lab/study/sweep.h"
#include "glint/lab/work/file_words.h"

namespace glint::cli {
namespace {

struct SweepFlags {
  SweepRequest request;
  std::string seeds = "0..2";
  bool list = false;
  SharingFlags sharing;
};

std::string counted(size_t n, const std::string& word) { return std::to_string(n) + " " + word + (n == 1 ? "" : "s"); }

// One command per line, for a person to look at or for other machines to run.
void print_plan(Context& context, const SweepPlan& plan, const std::string& out) {
  const std::vector<PlannedJob> jobs = plan.jobs(out);
  if (context.shared.json) return context.print_json(to_json(jobs));
  const auto finished = std::ranges::count_if(jobs, &PlannedJob::finished);
  context.say(counted(plan.settings.size(), "setting") + " x " + counted(plan.seeds.size(), "seed") + " = " +
              counted(plan.runs(), "run") + "; " + std::to_string(finished) + " finished");
  for (const PlannedJob& job : jobs) context.out << train_command(job.train) << "\n";
}

SweepHooks hooks_of(const Context& context) {
  SweepHooks hooks;
  if (context.terminal.interactive) return hooks;  // the bar says it
  hooks.trained = [&context](const std::string& run, const Evaluation& e, size_t done, size_t of) {
    context.say(std::to_string(done) + "/" + std::to_string(of) + "  " + run + "  loss " + fixed_text(e.test_loss, 4) +
                "  accuracy " + fixed_text(100 * e.test_accuracy, 2) + " %  " + duration_text(e.seconds));
  };
  hooks.read = [&context](const std::string& run, size_t done, size_t of) {
    context.say("read " + std::to_string(done) + "/" + std::to_string(of) + "  " + run);
  };
  return hooks;
}

void print(Context& context, const SweepResult& r) {
  const std::string best = r.settings[r.chosen].runs.front().directory;
  context.next = {"glint page " + shell_word(best), "glint runs " + shell_word(r.out + "/runs")};
  if (context.shared.json) return context.print_json(to_json(r));
  context.out << sweep_table(r).terminal(result_columns());
  std::ostringstream words;
  words << "Mean" << (r.plan.seeds.size() > 1 ? " ± standard deviation" : "") << " over "
        << counted(r.plan.seeds.size(), "seed")
        << (r.plan.text ? "; R2 and correlation: with what the layers add to the residual stream, mean over the "
                          "layers; linear R2 and untrained: the controls"
                        : "; weights, scaled, calibrated %: test images on which that form decides as the "
                          "model, linear and untrained %: the controls; seeds |cos|: how alike leading eigenvectors "
                          "are between seeds, halves |cos|: between halves of the data")
        << "; front: no other setting has a lower loss and more fidelity of the weights form.\n\n"
        << r.answer << "\n\n"
        << "files: " << joined(r.files, ", ") << "\n";
  context.out << prose(words.str(), result_columns());
}

void run(Context& context, const SweepFlags& o) {
  SweepRequest request = o.request;
  while (request.out.size() > 1 && request.out.ends_with('/')) request.out.pop_back();
  request.plan.seeds = parse_seeds(o.seeds);
  const SweepPlan plan = plan_sweep(request.plan);
  request.sharing = parse_sharing(context, o.sharing);
  if (o.list) return print_plan(context, plan, request.out);
  context.shared.precision = plan.settings.front().options.precision;
  const Engine engine = engine_of(context);
  const StopOnSignal guard;
  const SweepResult result = sweep(engine, request, hooks_of(context));
  if (!result.shared) return print(context, result);
  context.out << share_trained(request.sharing, result.left, result.out + "/runs");
}

}  // namespace

void add_sweep(Program& program) {
  Verb& verb = program.add(
      {.name = "sweep",
       .group = Group::train,
       .summary = "train a recipe with lists of options, and see what readability costs",
       .details = "Every training option takes a list: --lambda 0,0.1,0.5 --norm none,rms. All combinations "
                  "are trained with all seeds, several runs at a time; --one-at-a-time changes one option of "
                  "the recipe at a time. An option that a gate does not have (the shrink of SQS for SwiGLU) "
                  "does not multiply its runs. Every run is then read as glint spectrum does it.\n\n"
                  "DIR gets sweep.html (a page in which every point opens its eigenvectors), sweep.csv, "
                  "sweep.json, figures/ (loss against the agreement, or the correlation, of the weights "
                  "form, heat maps), and runs/ with a run directory per setting and seed. Ctrl-C saves, and "
                  "the same command goes on; longer lists use the finished runs again. The last line says "
                  "which setting to choose: of those whose loss is at most --tolerance above the lowest, the "
                  "one whose weights say most.",
       .examples = {{"glint sweep quick --gate sqs,identity --lambda 0.1,0.5 --norm none,rms --seeds 0..1 --out sweep",
                     "a first look on the built-in digits, some minutes"},
                    {"glint sweep fashion-4.1 --gate sqs,identity,silu --lambda 0,0.1,0.5 --norm none,rms --out sweep",
                     "Fashion-MNIST, three seeds"},
                    {"glint sweep quick --lambda 0,0.5 --lr 1e-3,4e-3 --one-at-a-time --out sweep",
                     "four settings instead of all combinations"},
                    {"glint sweep quick --lambda 0,0.5 --out sweep --list", "the plan, a training command per line"},
                    {"glint sweep quick --lambda 0,0.5 --out sweep --join",
                     "on every machine that sees the folder: they share the runs"}}});
  const auto o = std::make_shared<SweepFlags>();
  verb.add(Field("recipe", o->request.plan.recipe, "A recipe: name or .toml file")
               .file()
               .suggest(recipe_names({}))
               .argument("RECIPE"));
  static TrainOptions defaults;  // the table points into it
  for (const Field& spec : fields_of(defaults)) {
    if (spec.name == "seed") continue;
    const auto take = [o, name = spec.name](const std::string& text) {
      o->request.plan.lists.push_back(parse_option_list(name, text));
    };
    std::vector<std::string> words = spec.choices;
    if (std::holds_alternative<bool*>(spec.value)) words = {"true", "false"};
    const bool one = spec.name == "data" || spec.name == "precision";
    verb.option("--" + spec.name, take, spec.help + (one ? "; one value" : ""), "",
                {.placeholder = one ? "WORD" : "LIST", .words = words});
  }
  verb.add(Field("seeds", o->seeds, "Seeds of every setting, as 0..2 or 0,3,7").shown("LIST"));
  verb.add(Field("one_at_a_time", o->request.plan.one_at_a_time,
                 "The recipe, and the recipe with one option changed, instead of all combinations"));
  verb.add(Field("tolerance", o->request.tolerance,
                 "How much higher than the lowest the loss of the chosen setting may be, as a share")
               .range(0, 1000));
  verb.add(Field("list", o->list, "Train nothing: print the plan, one glint train command per line"));
  add_sharing(verb, o->sharing);
  verb.add(Field("data_dir", o->request.plan.data_dir, "Look for the data here first").directory());
  verb.add(Field("out", o->request.out, "Folder of the runs and results").directory());
  verb.share_engine();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
