// Appendix D: the losses of the language models, and what they write.
#include <algorithm>
#include <cmath>

#include "glint/lab/run.h"
#include "glint/cli/reproduce_lab.h"
#include "glint/model/sampling.h"
#include "glint/report/reproduction_tables.h"
#include "glint/report/training_figure.h"

namespace glint::cli {
namespace {

constexpr const char* kPrompt = "once upon a time";
constexpr double kTemperature = 0.8;

std::string sample(const Lab& lab, const std::string& directory) {
  const LanguageRun run = load_language_run(lab.engine, directory);
  std::vector<TokenId> prompt = run.tokenizer.encode(kPrompt);
  prompt.insert(prompt.begin(), run.tokenizer.end());
  Generator generator(run.model.config, lab.engine.compute(), 2);
  generator.set_weights(run.model.weights.span());
  const StoryPlan plan{.prompt = prompt,
                       .end = run.tokenizer.end(),
                       .tokens = run.model.config.context - prompt.size(),
                       .sampling = {.temperature = kTemperature}};
  std::string text;
  generate(
      generator, lab.engine.compute(), plan, [&](uint32_t, TokenId) { return !lab.engine.stop_asked(); },
      [&](const Story& story) {
        std::vector<TokenId> ids(prompt.begin() + 1, prompt.end());
        ids.insert(ids.end(), story.ids.begin(), story.ids.end());
        text = run.tokenizer.decode(ids) + (story.ended ? "" : " \xe2\x80\xa6");
      });
  return text;
}

// What the paper's two columns cannot be.
std::string paper_columns() {
  double low = INFINITY, high = -INFINITY;
  for (const PaperRow& row : paper_table1())
    if (row.data == "stories")
      for (const PaperCell& cell : row.at) {
        const double gap = std::log(cell.metric) - cell.loss;
        low = std::min(low, gap), high = std::max(high, gap);
      }
  return "The paper's perplexities are not exp of its losses: the logarithm of a perplexity lies " +
         fixed_text(low, 2) + " to " + fixed_text(high, 2) +
         " above the loss beside it. Most likely its losses are those of training and its perplexities those "
         "of validation.";
}

}  // namespace

void write_stories(Lab& lab, ReportSection& section) {
  collect_stories(lab);
  const TaskRuns* task = lab.measured.task(stories_key(lab.setup));
  if (!task) return;
  section.blocks.push_back(Paragraph{"Trained on " + std::to_string(task->train) + " stories" +
                                     (task->data == kTales ? " of the built-in tales" : "") +
                                     ", validated on " + std::to_string(task->test) +
                                     " others; the paper has " + std::to_string(kPaperStories) + "."});
  section.blocks.push_back(story_table(*task));
  if (paper_row(task->data, "sqs")) section.blocks.push_back(Paragraph{paper_columns()});
  const auto figure = [](const char* name, const char* caption, const Chart& chart) {
    return ReportFigure{.name = name, .caption = caption, .svg = to_svg(chart), .csv = to_csv(chart)};
  };
  section.blocks.push_back(figure("stories-loss", "Validation loss (log) over steps.", loss_figure(*task)));
  section.blocks.push_back(
      figure("stories-perplexity", "Perplexity over steps (log).", metric_figure(*task)));
  section.blocks.push_back(Paragraph{"One story of each gate, seed 0, temperature " +
                                     fixed_text(kTemperature, 1) + ", as it came; the prompt is \"" +
                                     kPrompt + "\". The paper cleans its samples by hand."});
  for (const std::string_view gate : kPaperGates)
    for (const PlannedRun& run : runs_stories(lab.setup))
      if (run.options.gate == gate && run.options.seed == 0 && run_finished(lab.directory(run)))
        section.blocks.push_back(
            Quotation{std::string(gate_title(gate)), printable(sample(lab, lab.directory(run)))});
}

}  // namespace glint::cli
