// Reading a language model: the GLU of one layer along tokens.
#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/read/read_latents.h"
#include "glint/lab/read/read_result.h"

namespace glint {
namespace {

// What a text would be needed for.
void check_mixture(const LanguageRun& run, Form form) {
  if (form == Form::weights && run.source().data.empty()) return;
  bad_file(run.directory(), "a mixture of experts cannot be run yet, so that there is nothing to measure on",
           "`form=weights` and no data");
}

// Of the `show` strongest eigenvectors of each sign, and of the linear part, the `near` nearest tokens.
void add_near_tokens(const LanguageRun& run, size_t near, size_t show, ReadDirection& d) {
  const Spectrum& s = d.form.spectrum;
  const BothEnds ends = both_ends(s.values, show);
  std::vector<std::span<const double>> wanted;
  for (const auto* side : {&ends.positive, &ends.negative})
    for (const uint32_t k : *side) wanted.push_back(s.vectors.view().row(k));
  if (d.has_linear()) wanted.push_back(d.form.linear);
  if (wanted.empty()) return;
  Matrix<double> vectors(wanted.size(), wanted[0].size());
  for (size_t k = 0; k < wanted.size(); k++) std::ranges::copy(wanted[k], vectors.view().row_ptr(k));
  // Tokens have no text without a tokenizer; the eigenvalues need none.
  const std::vector<NearTokens> found =
      run.has_tokenizer() ? near_tokens(run, vectors, near) : std::vector<NearTokens>(wanted.size());
  size_t at = 0;
  const auto shown = [&](const std::vector<uint32_t>& indices) {
    std::vector<ShownVector> out;
    for (const uint32_t k : indices) out.push_back({.value = s.values[k], .near = found[at++]});
    return out;
  };
  d.positive = shown(ends.positive);
  d.negative = shown(ends.negative);
  if (d.has_linear()) d.linear_near = found[at];
}

// The passages that the request wants.
void add_passages(const Engine& engine, LanguageRun& run, const ReadRequest& q, ReadResult& r) {
  PassagesRequest wanted{.layer = r.layer + 1, .hidden = hidden_units(q.along, ModelKind::language)};
  wanted.count = q.passages, wanted.near = 0, wanted.tokens = q.passage_tokens;
  std::vector<std::span<const double>> vectors;
  for (const ReadDirection& d : r.directions) {
    const Spectrum& s = d.form.spectrum;
    const BothEnds ends = both_ends(s.values, q.show);
    for (const auto* side : {&ends.positive, &ends.negative})
      for (const uint32_t k : *side) vectors.push_back(s.vectors.view().row(k)), wanted.values.push_back(s.values[k]);
  }
  if (!vectors.empty()) wanted.vectors = Matrix<double>(vectors.size(), vectors[0].size());
  for (size_t k = 0; k < vectors.size(); k++) std::ranges::copy(vectors[k], wanted.vectors.view().row_ptr(k));
  PassagesResult found = passages(engine, run, wanted);
  r.text->passage_text = found.text;
  size_t at = 0;
  for (ReadDirection& d : r.directions)
    for (const auto* side : {&d.positive, &d.negative})
      for (size_t k = 0; k < side->size(); k++) {
        Responses one = std::move(found.responses[at++]);
        one.name = d.name + ", " + (side == &d.positive ? "+" : "-") + std::to_string(k + 1);
        one.near = (*side)[k].near;
        d.responses.push_back(std::move(one));
      }
  // Hidden units stand behind all other directions but for latents; each has passages above and below 0.
  const size_t latents = words_of(q.along, ModelKind::language, DirectionWord::Kind::latent).empty()
                             ? 0
                             : static_cast<size_t>(std::ranges::count_if(
                                   r.directions, [](const ReadDirection& d) { return d.name.starts_with("latent "); }));
  const size_t units = wanted.hidden.size(), first = r.directions.size() - latents - units;
  for (size_t i = 0; i < 2 * units; i++)
    r.directions[q.along.from_layer ? r.directions.size() - 1 : first + i / 2].responses.push_back(
        std::move(found.responses[at + i]));
}

std::string two_decimals(double v) { return fixed_text(v, 2); }

// A control whose R2 is nearer than this to that of the form: what the eigenvectors show it shows, too.
constexpr double kClose = 0.15;

}  // namespace

ReadResult read_language(const Engine& engine, LanguageRun& run, const ReadRequest& q) {
  const LanguageReading& reading = run.reading();
  ReadResult r;
  TokenParts& text = r.text.emplace();
  r.layer = asked_layer(reading, q.layer), r.layers = reading.layers(), r.expert = run.source().expert;
  r.form = run.form(q.form);
  if (run.mixture()) check_mixture(run, r.form);
  const auto directions_of = [&](Run& of) { return asked_directions(of.language(), r.layer, q.along, r.form); };
  const Directions directions = directions_of(run);
  r.asked = joined(directions.names, ", ");
  const std::string folder = q.spectra || q.figures ? result_folder(q.out, run.results()) : "";
  engine.check_stop();
  describe_model(run, r);
  const Wanted wanted = wanted_pairs(reading.layer(r.layer), q.strongest);
  r.alone = why_alone(run, q);
  if (!r.alone.empty()) {
    read_unmeasured(run, directions, wanted, r);
  } else {
    describe_data(run, r);
    r.samples = run.samples(), r.untrained = run.untrained_text();
    const Activations a = run.measured(r.layer);
    r.inputs = a.inputs.rows();
    const ControlLevel level = asked_controls(q.controls);
    FormsReading all = read_forms(run, directions_of, a, {.controls = level, .pairs = wanted});
    set_directions(r, directions.names, *all.of(r.form).reading);
    set_forms(r, std::move(all));
    text.warnings = trust_sentences(r.forms, r.form, r.controls, r.layer, r.untrained);
    if (level == ControlLevel::all) add_missing_control(run, text.warnings);
  }
  engine.check_stop();
  for (ReadDirection& d : r.directions) add_near_tokens(run, q.near, q.show, d);
  if (!run.mixture()) {
    if (q.passages > 0) add_passages(engine, run, q, r);
    add_latents(engine, run, q, directions, r);
  }
  write_read_files(engine, reading, q, folder, r);
  return r;
}

std::string trust_sentence(const ReadResult& r) {
  if (r.inputs == 0) return "How far to trust these eigenvectors was not measured: " + r.alone + ".";
  const Trust& f = r.chosen().fidelity;
  const double linear = r.controls.linear.r2, own = f.eigenvectors_r2;
  const std::string layer = "layer " + std::to_string(r.layer + 1), form = "the " + name(r.form) + " form";
  const std::string map = "a linear map of the layer's input " + two_decimals(linear);
  if (f.r2 < kReadableR2)
    return "Do not trust these eigenvectors: " + form + " follows less than half of what " + layer + " does here (R2 " +
           two_decimals(f.r2) + ", " + map + ").";
  if (own < kReadableR2)
    return "Do not trust these eigenvectors by themselves: " + form + " of " + layer + " has R2 " + two_decimals(f.r2) +
           ", but " + two_decimals(own) + " without its linear part.";
  const std::string parts = std::fabs(own - f.r2) < 0.005 ? "" : ", its eigenvectors alone " + two_decimals(own);
  if (linear > own - kClose)
    return "Trust these eigenvectors with care: " + form + " of " + layer + " has R2 " + two_decimals(f.r2) + parts +
           ", but " + map + ".";
  return "Trust these eigenvectors for " + fixed_text(100 * own, 0) + " % of what " + layer + " does here: " + form +
         " has R2 " + two_decimals(f.r2) + parts + ", " + map + ".";
}

std::vector<std::string> trust_sentences(const std::vector<ReadForm>& forms, Form shown, const Controls& controls,
                                         size_t layer, const std::string& untrained) {
  const std::string number = std::to_string(layer + 1);
  std::vector<std::string> out;
  double best = 0;
  for (const ReadForm& f : forms) best = std::max(best, f.fidelity.r2);
  for (const ReadForm& f : forms) {
    const double r2 = f.fidelity.r2;
    if (r2 >= kReadableR2) continue;
    const std::string how = f.form == Form::weights ? "from the weights alone" : "by the " + name(f.form) + " form";
    out.push_back("Layer " + number + " cannot be read " + how + ": R2 " + two_decimals(r2) +
                  (r2 < 0 ? ", which is worse than a constant." : ", less than half of what it does."));
  }
  if (best < kReadableR2 && out.size() > 1)
    out = {"Layer " + number +
           " cannot be read along these directions: no form explains half of what it does "
           "(the best has R2 " +
           two_decimals(best) + ")."};
  for (const ReadForm& f : forms)
    if (f.form == shown && f.fidelity.r2 >= kReadableR2 && controls.linear.r2 > f.fidelity.r2)
      out.push_back("A linear map of the layer's input (R2 " + two_decimals(controls.linear.r2) +
                    ") explains more than the " + name(shown) + " form (R2 " + two_decimals(f.fidelity.r2) +
                    "): the eigenvectors may be a roundabout way to say something simple.");
  for (const ReadForm& f : forms) {
    const auto twin = controls.untrained.find(f.form);
    if (f.form != shown || f.fidelity.r2 < kReadableR2 || twin == controls.untrained.end()) continue;
    if (twin->second.r2 <= f.fidelity.r2 - kClose) continue;
    out.push_back("The same form of " + untrained + " has R2 " + two_decimals(twin->second.r2) +
                  ", about as much: that layer " + number +
                  " can be read comes with its shape; what the model has learned is what the eigenvectors say.");
  }
  return out;
}

void add_missing_control(const Run& run, std::vector<std::string>& sentences) {
  if (!run.has_untrained())
    sentences.push_back("There is no control with redrawn matrices: the model has more than " +
                        std::to_string(LanguageRun::kTwinParameters >> 30) + " billion parameters.");
}

}  // namespace glint
