// glint train: from a recipe or flags to a run directory, for one seed or several side by side.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/ranks.h"
#include "glint/cli/stop.h"
#include "glint/cli/training_view.h"
#include "glint/cli/verbs.h"
#include "glint/lab/work/train.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct TrainFlags {
  TrainRequest request;
  std::string seeds;
};

void print(Context& context, const TrainingResult& result) {
  const std::string& first = result.runs.front().out;
  context.next = result.text ? std::vector{"glint generate " + first, "glint spectrum " + first + " --token WORD"}
                             : std::vector{"glint eval " + first, "glint spectrum " + first};
  if (context.shared.json) return context.print_json(to_json(result));
  std::vector<Column> columns = {{.header = "run"}, {.header = "seed", .align = Align::right}};
  for (const char* header : result.text ? std::vector{"train loss", "validation loss", "perplexity", "time"}
                                        : std::vector{"test loss", "test accuracy", "time"})
    columns.push_back({.header = header, .align = Align::right});
  Table table(columns);
  for (const TrainedRun& run : result.runs) {
    const Evaluation& e = run.last;
    std::vector<std::string> cells = {run.out, std::to_string(run.seed)};
    if (result.text)
      cells.insert(cells.end(), {std::isfinite(e.train_loss) ? fixed_text(e.train_loss, 4) : "not known",
                                 fixed_text(e.test_loss, 4), fixed_text(std::exp(e.test_loss), 2)});
    else
      cells.insert(cells.end(), {fixed_text(e.test_loss, 4), fixed_text(100 * e.test_accuracy, 2) + " %"});
    cells.push_back(run.state == TrainResult::State::already_finished ? "done before" : duration_text(e.seconds));
    table.add(cells);
  }
  context.out << table.terminal(result_columns());
  if (result.runs.size() == 1) return;
  context.out << "\nmean of " << result.runs.size() << " seeds: " << (result.text ? "validation" : "test") << " loss "
              << fixed_text(result.test_loss.mean, 4) << " ± " << fixed_text(result.test_loss.sd, 4);
  if (!result.text)
    context.out << ", test accuracy " << fixed_text(100 * result.test_accuracy.mean, 2) << " ± "
                << fixed_text(100 * result.test_accuracy.sd, 2) << " %";
  context.out << "\n";
}

void run(Context& context, const TrainFlags& o) {
  // With several processes the others are silent, from here on; their errors reach the first.
  const glint::Group& group = context.ranks.start();
  if (!group.first()) context.shared.quiet = true;
  TrainRequest request = o.request;
  if (!o.seeds.empty()) request.seeds = parse_seeds(o.seeds);
  const TrainOptions options = training_options(request.recipe, request.changes, request.data_dir).options;
  context.shared.precision = options.precision;
  const auto display = std::make_shared<Display>(context);
  const Engine engine = engine_of(context, display);
  Telling telling(*display, std::max<size_t>(1, request.seeds.size()), options);
  const TrainingResult result = [&] {
    const StopOnSignal guard;
    return train(engine, request, telling.hooks());
  }();
  display->finish();
  result.check_done();
  print(context, result);
}

// "mnist-4.1, quick; for language models tales"
std::string built_in_list() {
  std::string images, stories;
  for (const BuiltInRecipe& r : built_in_recipes()) {
    std::string& list = r.text.find("\nheads") != r.text.npos ? stories : images;
    list += (list.empty() ? "" : ", ") + std::string(r.name);
  }
  return images + "; for language models " + stories;
}

}  // namespace

void add_train(Program& program) {
  Verb& verb = program.add(
      {.name = "train",
       .group = Group::train,
       .summary = "train a GLU on images or stories, from a recipe or from flags",
       .details = "RECIPE is a file, or a name: that of a file NAME.toml in the folder recipes/, or of a recipe "
                  "that is built into glint (" +
                  built_in_list() +
                  "). Flags override it. The run directory holds the options, the metrics, the checkpoints and the "
                  "weights; the same command resumes an interrupted run, and a directory with another run is never "
                  "overwritten without --force. Under mpirun or srun the processes train one model together, with "
                  "the same bytes as one alone: docs/cluster.md.",
       .examples = {{"glint train quick --out runs/first", "a small model on the built-in digits, half a minute"},
                    {"glint train mnist-4.1 --gate sqs --out runs/sqs", "the paper's section 4.1 on MNIST"},
                    {"glint train fashion-4.2 --gate relu --seeds 0..4 --out runs/relu", "five seeds side by side"},
                    {"glint train tinystories-small --data corpus --out runs/stories", "a language model"},
                    {"mpirun -n 4 glint train tinystories --data corpus --out runs/big", "on four processes"}}});
  const auto o = std::make_shared<TrainFlags>();
  verb.add(Field("recipe", o->request.recipe, "A recipe: name or .toml file")
               .file()
               .suggest(recipe_names({}))
               .argument("RECIPE"));
  static TrainOptions defaults;  // the table points into it; only for the defaults in help
  for (const Field& spec : fields_of(defaults)) {
    const auto take = [o, name = spec.name](const std::string& text) { o->request.changes.emplace_back(name, text); };
    if (bool* const* on = std::get_if<bool*>(&spec.value))
      verb.switches(spec.name, **on, spec.help, take);
    else
      verb.option("--" + spec.name, take, spec.help, field_text(spec),
                  Value{.placeholder = placeholder_of(spec), .words = spec.choices});
  }
  verb.add(Field("seeds", o->seeds, "Several seeds side by side, as 0..4 or 0,3,7: one run directory each in --out")
               .shown("LIST"));
  verb.add(Field("data_dir", o->request.data_dir, "Look for the data here first").directory());
  verb.add(Field("checkpoint_every", o->request.checkpoint_every,
                 "Steps between checkpoints; 0: at the end of an epoch, at most every ten seconds")
               .range(0, 1000000000));
  verb.add(Field("force", o->request.force, "Remove the run that is in the directory and start anew"));
  verb.add(Field("out", o->request.out, "Run directory; runs/RECIPE-GATE-seed-N when not given").directory());
  verb.share_kernels();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
