#include "glint/lab/read/read.h"

#include <algorithm>
#include <limits>

#include "glint/base/error.h"
#include "glint/base/statistics.h"
#include "glint/base/utf8.h"
#include "glint/lab/models/run_checks.h"
#include "glint/lab/read/controls.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_parts.h"
#include "glint/lab/work/result_files.h"

namespace glint {
namespace {

constexpr size_t kLocalImages = 300;
constexpr size_t kSharedPictures = 10;

// Forms that are the same are read once: shifts that are all 0 are none.
bool same(GateTerms a, GateTerms b) {
  for (GateTerms* t : {&a, &b})
    if (!has_linear_part(*t)) *t = without_linear_part(std::move(*t));
  return a == b;
}

// The units asked for, most of which are classes that have been read already.
Reading asked_of(const ImageReading& reading, const Reading& classes, const std::vector<UnitWord>& words,
                 const GateTerms& line, const Activations& a, const Wanted& wanted) {
  Directions differences;
  for (const UnitWord& w : words)
    if (w.minus) append(differences, reading.difference(w.plus, *w.minus));
  const Reading apart =
      differences.count() ? glint::read(reading, differences, line, a, {}, wanted) : Reading();
  Reading out;
  const auto take = [&](const Reading& from, size_t u) {
    out.units.push_back(from.units[u]);
    out.fidelity.unit_r2.push_back(from.fidelity.unit_r2[u]);
    out.fidelity.unit_even_share.push_back(from.fidelity.unit_even_share[u]);
    out.eigenvectors.unit_r2.push_back(from.eigenvectors.unit_r2[u]);
    out.linear_share.push_back(from.linear_share[u]);
    out.quadratic_share.push_back(from.quadratic_share[u]);
  };
  size_t next = 0;
  for (const UnitWord& w : words) w.minus ? take(apart, next++) : take(classes, w.plus);
  return out;
}

// Where the eigenvectors of a form with slopes are drawn, and how far they hold at other sizes.
void add_size(Run& run, const Directions& directions, const Activations& a, const Wanted& wanted,
              ReadResult& r) {
  const GateTerms line = run.lines(r.form)[r.layer];
  if (line.slope.empty() || a.inputs.rows() == 0) return;
  std::vector<double> sizes;
  for (size_t i = 0; i < a.inputs.rows(); i++) sizes.push_back(input_size(a.inputs.view().row(i)));
  std::vector<UnitForm> drawn;
  for (const ReadDirection& d : r.directions) drawn.push_back(d.form);
  const auto alike = [&](double s) {
    return mean_alike(drawn,
                      unit_forms(run.reading().linalg(), run.reading().pool(), run.reading().layer(r.layer),
                                 at_size(line, s), directions.weights, directions.constants, wanted));
  };
  r.drawn = {.size = line.size, .low = quantile(sizes, 0.1), .high = quantile(sizes, 0.9)};
  r.drawn->low_alike = alike(r.drawn->low), r.drawn->high_alike = alike(r.drawn->high);
}

bool all_known(const Spectrum& s) { return s.count() == s.width(); }

// Pictures of the eigenvectors that are shown, and of the first shared directions.
void add_pictures(const ImageReading& reading, std::span<const GateTerms> lines, size_t show, ReadResult& r) {
  std::vector<std::span<const double>> wanted;
  std::vector<std::vector<double>*> targets;
  for (ReadDirection& d : r.directions) {
    const Spectrum& s = d.form.spectrum;
    const BothEnds ends = both_ends(s.values, show);
    for (const auto& [side, indices] :
         {std::pair(&d.positive, &ends.positive), std::pair(&d.negative, &ends.negative)}) {
      side->resize(indices->size());
      for (size_t i = 0; i < indices->size(); i++) {
        (*side)[i].value = s.values[(*indices)[i]];
        wanted.push_back(s.vectors.view().row((*indices)[i]));
        targets.push_back(&(*side)[i].pixels);
      }
    }
    if (d.has_linear()) {
      wanted.push_back(d.form.linear);
      targets.push_back(&d.linear_pixels);
    }
  }
  r.shared_pictures.resize(std::min(kSharedPictures, r.shared.values.size()));
  for (size_t k = 0; k < r.shared_pictures.size(); k++) {
    r.shared_pictures[k].value = r.shared.values[k];
    wanted.push_back(r.shared.directions.view().row(k));
    targets.push_back(&r.shared_pictures[k].pixels);
  }
  if (wanted.empty()) return;
  Matrix<double> vectors(wanted.size(), wanted[0].size());
  for (size_t i = 0; i < wanted.size(); i++) std::ranges::copy(wanted[i], vectors.view().row_ptr(i));
  const Matrix<double> pictures = reading.pictures(r.layer, vectors, lines);
  for (size_t i = 0; i < targets.size(); i++) {
    const std::span<const double> row = pictures.view().row(i);
    targets[i]->assign(row.begin(), row.end());
  }
}

// Directions of one layer by themselves.
void read_layer(ImageRun& run, const Directions& directions, const Activations& a, const Wanted& wanted,
                ReadResult& r) {
  const ImageReading& reading = run.reading();
  const std::vector<FormReading> forms = read_forms(run, directions, a, {}, wanted);
  for (const FormReading& f : forms) r.forms.push_back(form_result(f.form, *f.reading));
  r.local = local_error(reading, directions, a, kLocalImages);
  set_directions(r, directions.names, *form_called(forms, r.form).reading);
}

// The last layer: every form of all classes, then the directions asked for.
void read_model(ImageRun& run, const std::vector<UnitWord>& words, const Activations& a, const Wanted& wanted,
                ReadResult& r) {
  const ImageReading& reading = run.reading();
  const std::vector<uint32_t> labels = labels_of(run.images().test);
  const Directions classes = reading.classes();
  const std::vector<FormReading> forms = read_forms(run, classes, a, labels, wanted);
  r.whole_model = true;
  r.accuracy_model = forms[0].reading->fidelity.accuracy_model;
  for (size_t f = 0; f < forms.size(); f++) {
    r.forms.push_back(form_result(forms[f].form, *forms[f].reading));
    r.forms.back().by_size = !forms[f].line.slope.empty();
    r.forms.back().truncation = f > 0 && forms[f].reading == forms[f - 1].reading
                                    ? r.forms[f - 1].truncation
                                    : reading.truncation(*forms[f].reading, a, labels).accuracy;
  }
  r.local = local_error(reading, classes, a, kLocalImages);
  const FormReading& chosen = form_called(forms, r.form);
  set_directions(r, class_directions(reading, words).names,
                 asked_of(reading, *chosen.reading, words, chosen.line, a, wanted));
}

}  // namespace

bool ReadDirection::has_linear() const {
  return std::any_of(form.linear.begin(), form.linear.end(), [](double v) { return v != 0; });
}

const ReadForm& ReadResult::chosen() const {
  return *std::find_if(forms.begin(), forms.end(), [&](const ReadForm& f) { return f.form == form; });
}

std::vector<std::string> ReadResult::names() const {
  std::vector<std::string> out;
  for (const ReadDirection& d : directions) out.push_back(d.name);
  return out;
}

std::string result_folder(const std::string& out, const std::string& run) {
  const std::string folder = out.empty() ? run : out;
  make_directory(folder);
  return folder;
}

Wanted wanted_pairs(const GluLayerView& layer, size_t top) {
  return {.strongest = layer.width() > kFullWidth ? top : 0};
}

std::vector<FormReading> read_forms(Run& run, const Directions& directions, const Activations& activations,
                                    std::span<const uint32_t> labels, const Wanted& wanted) {
  std::vector<FormReading> forms;
  const MirroredModel mirror = mirrored_model(run.reading(), directions, activations);
  for (const Form each : run.forms()) {
    FormReading form{.form = each, .line = run.line(each, directions.layer), .reading = nullptr};
    if (!forms.empty() && same(forms.back().line, form.line))
      form.reading = forms.back().reading;
    else
      form.reading = std::make_shared<const Reading>(
          read(run.reading(), directions, form.line, activations, labels, wanted, &mirror));
    forms.push_back(std::move(form));
  }
  return forms;
}

const FormReading& form_called(const std::vector<FormReading>& forms, Form form) {
  return *std::find_if(forms.begin(), forms.end(), [&](const FormReading& f) { return f.form == form; });
}

ReadForm form_result(Form of, const Reading& reading) {
  ReadForm form{.form = of, .fidelity = reading.fidelity, .eigenvectors = reading.eigenvectors};
  for (const UnitForm& u : reading.units)
    form.linear_part =
        form.linear_part || std::any_of(u.linear.begin(), u.linear.end(), [](double v) { return v != 0; });
  return form;
}

void set_directions(ReadResult& r, const std::vector<std::string>& names, Reading reading) {
  for (size_t u = 0; u < names.size(); u++) {
    ReadDirection d{.name = names[u],
                    .r2 = reading.fidelity.unit_r2[u],
                    .eigenvectors_r2 = reading.eigenvectors.unit_r2[u],
                    .linear_share = reading.linear_share[u],
                    .quadratic_share = reading.quadratic_share[u],
                    .even_share = reading.fidelity.unit_even_share[u],
                    .form = std::move(reading.units[u])};
    const auto interval_of = [&](const Fidelity& f) {
      return f.unit_r2_interval.empty() ? std::nullopt : std::optional(f.unit_r2_interval[u]);
    };
    d.r2_interval = interval_of(reading.fidelity);
    d.eigenvectors_r2_interval = interval_of(reading.eigenvectors);
    if (all_known(d.form.spectrum)) {
      d.rank = spectrum_rank(d.form.spectrum.values);
      d.energy = energy_curve(d.form.spectrum.values);
    }
    r.directions.push_back(std::move(d));
  }
}

std::vector<Form> forms_of(const ReadResult& r) {
  std::vector<Form> forms;
  for (const ReadForm& form : r.forms) forms.push_back(form.form);
  return forms;
}

void describe_model(Run& run, ReadResult& r) {
  r.kind = run.kind();
  r.linalg = run.reading().linalg().description();
  r.run = run.directory(), r.model_text = run.text(), r.model = run.config();
  r.gate = gate_info(run.gate()).text.name;
  // Of a path its last name: folders of this machine are nothing for a figure.
  r.trained_on = printable(run.trained_on().substr(run.trained_on().find_last_of('/') + 1));
  r.weights_sha256 = run.reading().weights_hash();
}

void describe_data(Run& run, ReadResult& r) {
  r.data = run.data_name(), r.data_checksum = run.data_checksum();
  const Run::CalibrationInfo calibration = run.calibration_info(r.layer);
  r.calibration = name(calibration.kind), r.calibration_inputs = calibration.inputs;
  r.default_form = run.form("auto");
}

std::string why_alone(Run& run, const ReadRequest& q) {
  if (asked_controls(q.controls) == ControlLevel::none) return "it was not asked for";
  // Passages and latents are measured.
  const bool weights =
      asked_form(q.form) == Form::weights && q.passages == 0 && q.sae.empty() && q.inputs.empty();
  return weights || (run.kind() == ModelKind::language && run.language().mixture()) ? run.unmeasured() : "";
}

void read_unmeasured(Run& run, const Directions& directions, const Wanted& wanted, ReadResult& r) {
  const std::vector<double> unknown(directions.count(), std::numeric_limits<double>::quiet_NaN());
  const GluLayerView view = run.reading().layer(r.layer);
  Reading reading;
  reading.units = unit_forms(run.reading().linalg(), run.reading().pool(), view, run.line(r.form, r.layer),
                             directions.weights, directions.constants, wanted);
  reading.fidelity.unit_r2 = reading.fidelity.unit_even_share = reading.eigenvectors.unit_r2 = unknown;
  reading.linear_share = reading.quadratic_share = unknown;
  r.default_form = r.form;
  set_directions(r, directions.names, std::move(reading));
}

namespace {

// What only language models have is refused, not left out.
void check_no_latents(const ReadRequest& q) {
  const std::pair<const char*, bool> given[] = {{"sae", !q.sae.empty()},
                                                {"latent", !q.latent.empty()},
                                                {"inputs", !q.inputs.empty()},
                                                {"from_layer", q.from_layer.has_value()}};
  for (const auto& [name, is_given] : given)
    if (is_given)
      throw Error({.code = ErrorCode::usage,
                   .what = "`" + std::string(name) + "` is for language models",
                   .where = name,
                   .expected = "a class of an image model, or a language model"});
}

}  // namespace

ReadResult read_images(const Engine& engine, ImageRun& run, const ReadRequest& q) {
  check_no_latents(q);
  const ImageReading& reading = run.reading();
  ReadResult r;
  r.layer = asked_layer(reading, q.layer), r.layers = reading.layers();
  r.form = run.form(q.form);
  std::vector<UnitWord> words;
  std::vector<size_t> via;
  if (q.hidden.empty()) {
    words = parse_units(q.unit, run.class_names(), "unit");
    via = parse_via(q.via, reading.last() - r.layer);
    r.asked = class_text(words, run.class_names(), via);
  }
  const auto directions_of = [&](Run& of) {
    if (!q.hidden.empty()) return hidden_direction(of.reading(), r.layer, q.hidden);
    Directions d = class_directions(of.image().reading(), words);
    for (const size_t rank : via) d = step_down(of.reading(), d, of.line(r.form, d.layer), rank);
    return d;
  };
  const Directions directions = directions_of(run);
  if (!q.hidden.empty()) r.asked = directions.names[0];
  const std::string folder = q.spectra || q.figures ? result_folder(q.out, run.directory()) : "";
  engine.check_stop();
  describe_model(run, r);
  r.size = {run.model().height, run.model().width};
  const Wanted wanted = wanted_pairs(reading.layer(r.layer), q.top);
  r.alone = why_alone(run, q);
  if (!r.alone.empty()) {
    read_unmeasured(run, directions, wanted, r);
  } else {
    describe_data(run, r);
    const Activations a = run.measured(r.layer);
    r.inputs = a.inputs.rows();
    if (r.layer == reading.last() && q.hidden.empty())
      read_model(run, words, a, wanted, r);
    else
      read_layer(run, directions, a, wanted, r);
    r.residual = r.whole_model && a.residual_logits.size() > 0;
    engine.check_stop();
    add_size(run, directions, a, wanted, r);
    const std::vector<Form> twins =
        asked_controls(q.controls) == ControlLevel::all ? forms_of(r) : std::vector<Form>();
    r.controls = r.whole_model ? controls_of(
                                     run, [](Run& of) { return of.image().reading().classes(); }, twins, a,
                                     labels_of(run.images().test))
                               : controls_of(run, directions_of, twins, a);
  }
  engine.check_stop();
  std::vector<Spectrum> spectra;
  for (const ReadDirection& d : r.directions) spectra.push_back(d.form.spectrum);
  if (spectra.size() > 1 && std::all_of(spectra.begin(), spectra.end(), all_known))
    r.shared = shared_directions(engine.linalg(), spectra);
  add_pictures(reading, run.lines(r.form), q.show, r);
  write_read_files(engine, reading, q, folder, r);
  return r;
}

RunSource source_of(const ReadRequest& q) {
  return {.run = q.run,
          .data = q.data,
          .data_dir = q.data_dir,
          .images = q.images,
          .refine = q.refine,
          .tokenizer = q.tokenizer,
          .expert = q.expert,
          .tokens = q.tokens};
}

ReadResult read(const Engine& engine, const ReadRequest& request) {
  asked_form(request.form), asked_controls(request.controls);  // refused before anything is opened
  return read(engine, *open_run(engine, source_of(request)), request);
}

ReadResult read(const Engine& engine, Run& run, const ReadRequest& q) {
  return run.kind() == ModelKind::language ? read_language(engine, run.language(), q)
                                           : read_images(engine, run.image(), q);
}

}  // namespace glint
