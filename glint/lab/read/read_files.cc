// The files of a reading: spectra.safetensors, and figures of its directions.
#include <algorithm>

#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/read_result.h"
#include "glint/lab/work/file_words.h"
#include "glint/lab/work/result_files.h"
#include "glint/report/spectrum_figure.h"
#include "glint/spectra/spectra_file.h"

namespace glint {
namespace {

// What stands in the names of files behind "spectra", "features" and so on: "" for all classes of the last
// layer in the run's default form, "-3-minus-5-weights-layer-1" for others.
std::string place(const ReadResult& r) {
  if (r.asked.empty()) return "";
  return "-layer-" + std::to_string(r.layer + 1) + (r.expert.empty() ? "" : "-expert-" + r.expert);
}
std::string file_tag(const ReadResult& r) {
  if (r.asked.empty()) return r.form == r.default_form ? "" : "-" + name(r.form);
  return "-" + file_word(r.asked) + "-" + name(r.form) + place(r);
}

void write_spectra(const Engine& engine, const GluModel& model, size_t top, const std::string& path,
                   const ReadResult& r) {
  SpectraToWrite spectra{.units = {},
                         .features = {},
                         .names = r.names(),
                         .form = name(r.form),
                         .layer = r.layer,
                         .model = r.weights_sha256,
                         .linalg = r.linalg,
                         .size = r.drawn ? r.drawn->size : 0};
  for (const ReadDirection& d : r.directions) spectra.units.push_back(top ? strongest_terms(d.form, top) : d.form);
  // A language model has as many inputs as tokens: who wants their features multiplies by the embedding.
  if (r.kind == ModelKind::image && r.layer == 0) {
    const InputMap map = model.input_map();
    const size_t k = spectra.units[0].spectrum.count(), inputs = map.matrix.cols();
    spectra.features = Matrix<double>(spectra.units.size() * k, inputs);
    model.pool().for_tiles(spectra.units.size(), [&](size_t u, size_t) {
      const Features f = features(model.linalg(), spectra.units[u].spectrum.vectors, map);
      std::copy_n(f.maps.data(), f.maps.size(), spectra.features.view().row_ptr(u * k));
    });
  }
  save_spectra(engine.files(), path, spectra);
}

std::vector<SignedPicture> pictures_of(const std::vector<ShownVector>& side) {
  std::vector<SignedPicture> out;
  for (const ShownVector& v : side)
    if (!v.pixels.empty()) out.push_back({v.value, v.pixels});
  return out;
}

// "sqs on mnist, layer 1 of 2, weights form".
std::string what_text(const ReadResult& r) {
  return r.gate + (r.trained_on.empty() ? "" : " on " + r.trained_on) +
         (r.layers > 1 ? ", layer " + std::to_string(r.layer + 1) + " of " + std::to_string(r.layers) : "") +
         (r.expert.empty() ? "" : ", expert " + r.expert) + ", " + name(r.form) + " form";
}

std::string trust_text(const ReadResult& r) {
  if (r.inputs == 0) return "Nothing was measured";
  const Fidelity& f = r.chosen().fidelity;
  return "R\u00b2 with the " + std::string(r.whole_model() ? "logits " : "outputs ") + fixed_text(f.r2, 3) +
         (r.whole_model() ? ", same decision on " + fixed_text(100 * f.agreement, 1) + " % of the test images" : "");
}

// Below the picture of the linear part: how much of the reading it is.
std::string linear_note(const ReadDirection& d) {
  return d.trust ? fixed_text(100 * d.trust->linear_share, 0) + " % of variance" : "";
}

// "0.912 (0.903 to 0.921)".
std::string r2_text(double r2, const std::optional<Interval>& interval) {
  return fixed_text(r2, 3) +
         (interval ? " (" + fixed_text(interval->low, 3) + " to " + fixed_text(interval->high, 3) + ")" : "");
}

std::string direction_note(const ReadDirection& d, const Trust& t) {
  return "R\u00b2 of this output " + r2_text(t.r2, t.r2_interval) +
         (d.has_linear() ? ", of the eigenvectors alone " + r2_text(t.eigenvectors_r2, t.eigenvectors_r2_interval)
                         : "");
}

Figure spectrum_of(const ReadDirection& d, const ReadResult& r) {
  const bool pictures = r.size.height > 0;
  return spectrum_figure({.title = printable(d.name) + ": " + what_text(r),
                          .note = d.trust ? direction_note(d, *d.trust) : origin_text(r),
                          .values = d.form.spectrum.values,
                          .groups = d.form.spectrum.groups,
                          .size = r.size,
                          .positive = pictures ? pictures_of(d.positive) : std::vector<SignedPicture>(),
                          .negative = pictures ? pictures_of(d.negative) : std::vector<SignedPicture>(),
                          .linear = pictures ? d.linear_pixels : std::vector<double>(),
                          .linear_note = linear_note(d)});
}

Figure grid_of(const ReadResult& r) {
  FeatureGrid grid{.title = "Eigenvectors: " + what_text(r),
                   .note = trust_text(r) + ". Each picture on its own scale; the sign of a picture is free.",
                   .size = r.size,
                   .rows = {}};
  for (const ReadDirection& d : r.directions)
    grid.rows.push_back({.name = printable(d.name),
                         .note = d.trust ? "R\u00b2 " + fixed_text(d.trust->r2, 3) : "",
                         .positive = pictures_of(d.positive),
                         .negative = pictures_of(d.negative),
                         .linear = d.linear_pixels,
                         .linear_note = linear_note(d)});
  return feature_grid(grid);
}

Figure truncation_of(const ReadResult& r) {
  std::vector<TruncationSeries> series;
  for (const ReadForm& f : r.forms) series.push_back({name(f.form) + " form", f.truncation, f.linear_part, f.by_size});
  return figure_of(truncation_figure("Accuracy with k eigenvectors per class: " + r.gate + " on " + r.trained_on,
                                     series, r.forms[0].fidelity.accuracy_model));
}

Figure shared_of(const ReadResult& r) {
  SharedPlot plot{.title = "Directions shared by the units: " + what_text(r),
                  .note = "Below each its singular value, and v' Q v of every unit. " + trust_text(r) + ".",
                  .size = r.size,
                  .units = {},
                  .directions = r.image->shared_pictures,
                  .signed_share = Matrix<double>(r.directions.size(), r.image->shared_pictures.size())};
  for (size_t u = 0; u < r.directions.size(); u++) {
    plot.units.push_back(printable(r.directions[u].name));
    for (size_t k = 0; k < plot.directions.size(); k++) plot.signed_share(u, k) = r.image->shared.signed_share(u, k);
  }
  return shared_figure(plot);
}

void write_passages(const Engine& engine, const std::string& stem, ReadResult& r) {
  PassagesResult all{.run = r.run,
                     .model = r.model_text,
                     .linalg = r.linalg,
                     .layer = r.layer,
                     .layers = r.layers,
                     .text = *r.text->passage_text,
                     .responses = {}};
  std::vector<std::string> trust;
  for (const ReadDirection& d : r.directions) {
    all.responses.insert(all.responses.end(), d.responses.begin(), d.responses.end());
    if (d.trust)
      trust.push_back(printable(d.name) + ", " + name(r.form) + " form: R\u00b2 " + fixed_text(d.trust->r2, 3) +
                      ", of the eigenvectors alone " + fixed_text(d.trust->eigenvectors_r2, 3));
  }
  r.text->passages_page = stem + ".html";
  write_atomic(engine.files(), r.text->passages_page,
               passages_page(all, "What the eigenvectors for " + r.asked + " respond to", trust));
}

}  // namespace

std::vector<FigureFile> read_figures(const ReadResult& r) {
  std::vector<FigureFile> figures;
  for (const ReadDirection& d : r.directions)
    figures.push_back({"spectrum-" + file_word(d.name) + "-" + name(r.form) + place(r), spectrum_of(d, r)});
  // The pictures of all classes of the last layer have short names.
  const std::string tag = r.asked.empty() ? "-" + name(r.form) : file_tag(r);
  const bool pictures = r.size.height > 0;
  if (pictures) figures.push_back({"features" + tag, grid_of(r)});
  if (r.whole_model()) figures.push_back({"truncation", truncation_of(r)});
  if (pictures && !r.image->shared_pictures.empty()) figures.push_back({"shared" + tag, shared_of(r)});
  return figures;
}

void write_read_files(const Engine& engine, const GluModel& model, const ReadRequest& q, const std::string& folder,
                      ReadResult& r) {
  if (q.spectra) {
    r.spectra = folder + "/spectra" + file_tag(r) + ".safetensors";
    write_spectra(engine, model, q.strongest, r.spectra, r);
  }
  if (!q.figures) return;
  r.figures_folder = figures_directory(folder);
  std::vector<FigureFile> files = read_figures(r);
  for (FigureFile& f : files) f.stem = r.figures_folder + "/" + f.stem;
  write_figures(engine, files);
  if (r.text && r.text->passage_text) write_passages(engine, r.figures_folder + "/passages" + file_tag(r), r);
  for (const FigureFile& f : files) r.figures.push_back(f.stem + ".svg");
}

}  // namespace glint
