#include "glint/lab/study/attack.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/statistics.h"
#include "glint/lab/models/run_checks.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/read/read_request.h"
#include "glint/lab/study/run_pairs.h"
#include "glint/lab/work/result_files.h"

namespace glint {
namespace {

// Enough for a mean that does not move.
constexpr size_t kMeanImages = 2000;

// Images of the class (`own`) or of all others, at most `most`, evenly spaced.
std::vector<uint32_t> pick(const ImageSet& images, size_t unit, bool own, size_t most) {
  std::vector<uint32_t> all, some;
  for (size_t i = 0; i < images.count(); i++)
    if ((images.labels[i] == unit) == own) all.push_back(static_cast<uint32_t>(i));
  const size_t n = std::min(all.size(), most);
  for (size_t i = 0; i < n; i++) some.push_back(all[i * all.size() / n]);
  return some;
}

double mean_length(const ImageSet& images) {
  double sum = 0;
  for (size_t i = 0; i < images.count(); i++) {
    double squares = 0;
    for (const uint8_t p : images.pixels.view().row(i)) squares += p * p;
    sum += std::sqrt(squares) / 255;
  }
  return sum / static_cast<double>(std::max<size_t>(images.count(), 1));
}

// An example image, plain (strength 0) or under the mask.
std::vector<float> example_pixels(const ImageSet& test, size_t index, std::span<const float> mask, double strength) {
  std::vector<float> out(test.pixels.cols());
  for (size_t i = 0; i < out.size(); i++)
    out[i] = std::clamp(static_cast<float>(test.pixels(index, i)) / 255.0f + static_cast<float>(strength) * mask[i],
                        0.0f, 1.0f);
  return out;
}

AttackExample find_example(const ImageReading& reading, const ImageSet& test, std::span<const uint32_t> plain,
                           size_t unit, std::span<const float> mask, double strength) {
  std::vector<uint32_t> rows = pick(test, unit, true, test.count());
  std::erase_if(rows, [&](uint32_t r) { return plain[r] != unit; });
  if (rows.size() > 200) rows.resize(200);
  if (rows.empty()) return {};
  const std::vector<uint32_t> masked = decisions(reading, test.pixels, rows, mask, static_cast<float>(strength));
  size_t at = 0;
  for (size_t i = rows.size(); i-- > 0;)
    if (masked[i] != unit) at = i;
  return {.found = true,
          .index = rows[at],
          .label = unit,
          .plain = plain[rows[at]],
          .masked = masked[at],
          .pixels = example_pixels(test, rows[at], mask, 0),
          .masked_pixels = example_pixels(test, rows[at], mask, strength)};
}

Attack measure_attack(const Engine& engine, ImageRun& run, const AttackRequest& options) {
  const ImageReading& reading = run.reading();
  const ImageSet &train = run.images().train, &test = run.images().test;
  Attack attack;
  attack.form = run.form(options.form);
  const std::vector<GateTerms> lines = run.lines(attack.form);
  const Directions classes = reading.classes();
  attack.run = run.directory(), attack.data = run.images().name;
  attack.terms = options.show, attack.strengths = options.strengths;
  attack.height = test.height, attack.width = test.width;
  attack.units = parse_class_list(options.unit, classes.names);
  attack.image_length = mean_length(test);
  const Activations pass = run.measured(reading.last());
  attack.fidelity = form_fidelity(reading, classes, lines[reading.last()], pass);
  attack.controls = controls_of(run, all_classes, {attack.form}, pass);
  std::vector<uint32_t> all(test.count());
  for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<uint32_t>(i);
  const std::vector<uint32_t> plain = decisions(reading, test.pixels, all);

  for (const size_t unit : attack.units) {
    engine.check_stop();
    attack.unit_names.push_back(run.class_text(unit));
    std::array<AttackResult, 2> both;
    for (size_t g = 0; g < 2; g++) {
      const AttackGoal goal = kGoals[g];
      const bool own = goal == AttackGoal::away;
      AttackResult& result = both[g];
      const std::vector<uint32_t> mean_rows = pick(train, unit, own, kMeanImages);
      const uint64_t mask_seed = options.seed + 2 * unit + g;
      result.masks[0] = mean_rows.empty() ? std::vector<float>(test.pixels.cols())
                                          : class_mask(reading, classes.weights.view().row(unit), lines,
                                                       layer_means(reading, train.pixels, mean_rows), options.show, 1.0,
                                                       own ? -1 : 1);
      result.masks[1] = shuffled_mask(result.masks[0], mask_seed);
      result.masks[2] = random_mask(result.masks[0].size(), 1.0, mask_seed);
      const std::vector<uint32_t> rows = pick(test, unit, own, options.images);
      std::vector<uint32_t> labels, decided;
      for (const uint32_t r : rows) labels.push_back(test.labels[r]), decided.push_back(plain[r]);
      for (size_t k = 0; k < 3; k++)
        for (const double strength : options.strengths)
          result.curve[k].push_back(attack_point(
              labels, decided, decisions(reading, test.pixels, rows, result.masks[k], static_cast<float>(strength)),
              static_cast<uint32_t>(unit), goal));
    }
    attack.results.push_back(std::move(both));
  }
  // What is shown: the first strength at which half of the images leave their class.
  attack.shown = options.strengths.size() - 1;
  for (size_t s = options.strengths.size(); s-- > 0;)
    if (summary(attack, AttackGoal::away, MaskKind::eigen, s).success >= 0.5) attack.shown = s;
  for (size_t u = 0; u < attack.units.size(); u++) {
    attack.examples.push_back(
        find_example(reading, test, plain, attack.units[u], attack.results[u][0].masks[0], attack.shown_strength()));
    AttackExample& e = attack.examples.back();
    e.plain_text = run.class_text(e.plain), e.masked_text = run.class_text(e.masked);
  }
  return attack;
}

}  // namespace

std::string_view name(MaskKind kind) {
  return kind == MaskKind::eigen ? "eigen" : kind == MaskKind::shuffled ? "shuffled" : "random";
}

std::string_view name(AttackGoal goal) { return goal == AttackGoal::away ? "away" : "towards"; }

AttackSummary summary(const Attack& attack, AttackGoal goal, MaskKind kind, size_t strength) {
  std::vector<double> success, accuracy;
  for (const std::array<AttackResult, 2>& unit : attack.results) {
    const AttackPoint& p = unit[goal == AttackGoal::away ? 0 : 1].curve[static_cast<size_t>(kind)][strength];
    if (p.eligible) success.push_back(p.success);
    if (p.images) accuracy.push_back(p.accuracy);
  }
  const MeanAndSd s = mean_and_sd(success), a = mean_and_sd(accuracy);
  return {.success = s.mean, .success_sd = s.sd, .accuracy = a.mean, .accuracy_sd = a.sd};
}

std::vector<Field> fields_of(AttackRequest& q) {
  return join(
      fields_of(q.source),
      {Field("unit", q.unit, "Classes: all, 3, 3..5, or 0,2,7..9").shown("LIST"),
       Field("show", q.show, "Eigenvectors in a mask").range(1, 64),
       Field("strengths", q.strengths, "Euclidean lengths of the mask, with commas between them").range(0, 1000),
       Field("form", q.form,
             "How gates are read: as the identity (weights, the paper), or by gains or lines measured on data")
           .one_of(form_words()),
       Field("images", q.images, "Test images for each mask, at most").range(1, 1000000),
       Field("seed", q.seed, "Seed of the controls"), figures_field(q.figures),
       out_field(q.out, "Where the folder figures goes; default: the run")});
}

static void check_strengths(const AttackRequest& request) {
  check_ranges(request);
  if (request.strengths.empty())
    throw Error({.code = ErrorCode::usage, .what = "no strength is given", .where = "strengths"});
}

Attack attack(const Engine& engine, const AttackRequest& request) {
  check_strengths(request);
  return attack(engine, *open_image_run(engine, request.source), request);
}

Attack attack(const Engine& engine, ImageRun& run, const AttackRequest& request) {
  check_strengths(request);
  check_request(request, run);
  check_pictures(run.images(), "an attack");
  Attack result = measure_attack(engine, run, request);
  result.linalg = engine.linalg().description();
  if (!request.figures) return result;
  result.figures = figures_directory(request.out.empty() ? result.run : request.out);
  write_figures(engine, draw_attack(result, result.figures));
  return result;
}

}  // namespace glint
