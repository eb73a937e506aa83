#include "glint/lab/read/read.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/statistics.h"
#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_result.h"
#include "glint/lab/work/result_files.h"

namespace glint {
namespace {

constexpr size_t kLocalImages = 300;
constexpr size_t kSharedPictures = 10;

// The units asked for, most of which are classes that have been read already.
Reading asked_of(const ImageReading& reading, const FormReading& classes, const std::vector<UnitWord>& words,
                 const Activations& a, const Wanted& wanted) {
  Directions differences;
  for (const UnitWord& w : words)
    if (w.minus) append(differences, reading.difference(w.plus, *w.minus));
  const Reading apart = differences.count() ? glint::read(reading, differences, classes.line, a, wanted) : Reading();
  Reading out;
  const auto take = [&](const Reading& from, size_t u) {
    out.units.push_back(from.units[u]);
    out.fidelity.units.push_back(from.fidelity.units[u]);
  };
  size_t next = 0;
  for (const UnitWord& w : words) w.minus ? take(apart, next++) : take(*classes.reading, w.plus);
  return out;
}

// Where the eigenvectors of a form with slopes are drawn, and how far they hold at other sizes.
void add_size(Run& run, const Directions& directions, const Activations& a, const Wanted& wanted, ReadResult& r) {
  const GateTerms line = run.lines(r.form)[r.layer];
  if (line.slope.empty() || a.inputs.rows() == 0) return;
  std::vector<double> sizes;
  for (size_t i = 0; i < a.inputs.rows(); i++) sizes.push_back(input_size(a.inputs.view().row(i)));
  std::vector<UnitForm> drawn;
  for (const ReadDirection& d : r.directions) drawn.push_back(d.form);
  const auto alike = [&](double s) {
    return mean_alike(drawn, unit_forms(run.reading().reader(r.layer), at_size(line, s), directions.weights,
                                        directions.constants, wanted));
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
  const SharedDirections& shared = r.image->shared;
  std::vector<SignedPicture>& pictures_shared = r.image->shared_pictures;
  pictures_shared.resize(std::min(kSharedPictures, shared.values.size()));
  for (size_t k = 0; k < pictures_shared.size(); k++) {
    pictures_shared[k].value = shared.values[k];
    wanted.push_back(shared.directions.view().row(k));
    targets.push_back(&pictures_shared[k].pixels);
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

void set_forms(ReadResult& r, FormsReading all) {
  r.controls = std::move(all.controls);
  for (const FormReading& f : all.forms) {
    ReadForm form{.form = f.form, .fidelity = f.reading->fidelity, .by_size = !f.line.slope.empty()};
    if (f.cut) form.truncation = f.cut->accuracy;
    for (const UnitForm& u : f.reading->units)
      form.linear_part = form.linear_part || std::ranges::any_of(u.linear, [](double v) { return v != 0; });
    r.forms.push_back(std::move(form));
  }
}

void set_directions(ReadResult& r, const std::vector<std::string>& names, Reading reading) {
  for (size_t u = 0; u < names.size(); u++) {
    ReadDirection d{.name = names[u], .form = std::move(reading.units[u])};
    if (!reading.fidelity.units.empty()) d.trust = reading.fidelity.units[u];
    if (all_known(d.form.spectrum)) {
      d.rank = spectrum_rank(d.form.spectrum.values);
      d.energy = energy_curve(d.form.spectrum.values);
    }
    r.directions.push_back(std::move(d));
  }
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
      asked_form(q.form) == Form::weights && q.passages == 0 && q.along.sae.empty() && q.inputs.empty();
  return weights || (run.kind() == ModelKind::language && run.language().mixture()) ? run.unmeasured() : "";
}

std::string origin_text(const ReadResult& r) {
  if (r.calibration_inputs == 0) return "from the weights alone";
  return "fitted to " + std::to_string(r.calibration_inputs) + " " +
         (r.kind == ModelKind::language ? "tokens" : "training images") + " of " + printable(r.data);
}

void read_unmeasured(Run& run, const Directions& directions, const Wanted& wanted, ReadResult& r) {
  if (form_info(r.form).needs == FormNeeds::data)
    describe_data(run, r);
  else
    r.default_form = r.form;
  set_directions(r, directions.names,
                 {.units = unit_forms(run.reading().reader(r.layer), run.line(r.form, r.layer), directions.weights,
                                      directions.constants, wanted),
                  .fidelity = {}});
}

ReadResult read_images(const Engine& engine, ImageRun& run, const ReadRequest& q) {
  const ImageReading& reading = run.reading();
  ReadResult r;
  r.layer = asked_layer(reading, q.layer), r.layers = reading.layers();
  r.form = run.form(q.form);
  const std::vector<UnitWord> words = class_words(run, q.along);  // none: other directions
  if (!words.empty()) r.asked = class_text(words, run.class_names(), parse_via(q.along.via, reading.last() - r.layer));
  const auto directions_of = [&](Run& of) { return image_directions(of.image(), r.layer, q.along, r.form); };
  const Directions directions = directions_of(run);
  if (words.empty()) r.asked = joined(directions.names, ", ");
  const std::string folder = q.spectra || q.figures ? result_folder(q.out, run.directory()) : "";
  engine.check_stop();
  describe_model(run, r);
  r.size = {run.model().height, run.model().width};
  ImageParts& parts = r.image.emplace();
  const Wanted wanted = wanted_pairs(reading.layer(r.layer), q.strongest);
  r.alone = why_alone(run, q);
  if (!r.alone.empty()) {
    read_unmeasured(run, directions, wanted, r);
  } else {
    describe_data(run, r);
    const Activations a = run.measured(r.layer);
    r.inputs = a.inputs.rows();
    // At the last layer every form is read of all classes, of which the units asked for are some.
    parts.whole_model = r.layer == reading.last() && !words.empty();
    parts.residual = parts.whole_model && a.residual_logits.size() > 0;
    FormsReading all = read_forms(run, parts.whole_model ? DirectionsOf(all_classes) : directions_of, a,
                                  {.controls = asked_controls(q.controls), .pairs = wanted});
    engine.check_stop();
    const FormReading& chosen = all.of(r.form);
    set_directions(r, directions.names,
                   parts.whole_model ? asked_of(reading, chosen, words, a, wanted) : *chosen.reading);
    set_forms(r, std::move(all));
    parts.local = local_error(reading, parts.whole_model ? reading.classes() : directions, a, kLocalImages);
    add_size(run, directions, a, wanted, r);
  }
  engine.check_stop();
  std::vector<Spectrum> spectra;
  for (const ReadDirection& d : r.directions) spectra.push_back(d.form.spectrum);
  if (spectra.size() > 1 && std::all_of(spectra.begin(), spectra.end(), all_known))
    parts.shared = shared_directions(engine.linalg(), spectra);
  add_pictures(reading, run.lines(r.form), q.show, r);
  write_read_files(engine, reading, q, folder, r);
  return r;
}

ReadResult read(const Engine& engine, const ReadRequest& request) {
  check_ranges(request);
  return read(engine, *open_run(engine, request.source), request);
}

ReadResult read(const Engine& engine, Run& run, const ReadRequest& q) {
  check_request(q, run);
  return run.kind() == ModelKind::language ? read_language(engine, run.language(), q)
                                           : read_images(engine, run.image(), q);
}

}  // namespace glint
