// SQS with other options: how well it does, and how far its weights form can be trusted.
#include <algorithm>

#include "glint/paper/class_match.h"
#include "glint/paper/measure.h"

namespace glint {
namespace {

void add_run(Measuring& m, const PlannedRun& planned, const std::string& data, GateChoice& choice) {
  m.check_stop("reading the models");
  m.hooks.tell({.label = "read choices", .done = choice.loss.size(), .unit = "models", .detail = planned.path()});
  const RunCurve curve = curve_of(m.directory(planned), planned.options);
  const std::unique_ptr<ImageRun> run = open_run_of(m, planned, data);
  const ImageReading& reading = run->reading();
  const std::vector<GateTerms> lines = run->lines(Form::weights);
  const Reading form = reading.read(reading.classes(), lines[reading.last()], run->measured(reading.last()));
  choice.loss.push_back(curve.points.back().loss);
  choice.accuracy.push_back(curve.points.back().metric);
  choice.agreement.push_back(form.fidelity.agreement);
  choice.r2.push_back(form.fidelity.r2);
  choice.matched.push_back(
      class_likeness(top_pictures(reading, form.units, lines), class_deviations(run->images().train)).matched);
}

}  // namespace

void measure_choices(Measuring& m) {
  if (!m.measured.choices.empty()) return;
  const bool quick = m.plan.setup.quick;
  for (const std::string& data : m.plan.setup.images) {
    std::vector<SqsChoice> choices = other_choices(quick);
    choices.push_back(kPaperChoice);
    std::ranges::sort(choices, {}, [](const SqsChoice& c) { return std::pair{c.c, c.lambda}; });
    for (const SqsChoice& c : choices) {
      const bool own = c.lambda == kPaperChoice.lambda && c.c == kPaperChoice.c;
      GateChoice choice{.data = data, .lambda = c.lambda, .c = c.c};
      for (const PlannedRun* run : m.finished(own ? group_41(data) : group_choice(data, c), "sqs"))
        if (choice.loss.size() < kFewSeeds) add_run(m, *run, data, choice);
      if (!choice.loss.empty()) m.measured.choices.push_back(std::move(choice));
    }
  }
}

}  // namespace glint
