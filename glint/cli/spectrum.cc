// glint spectrum: what a trained model's weights say, unit by unit, and how far to trust it.
#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/given.h"
#include "glint/cli/language_view.h"
#include "glint/cli/run_checks.h"
#include "glint/cli/spectrum_view.h"
#include "glint/cli/unit_words.h"
#include "glint/cli/verbs.h"
#include "glint/spectra/spectra_file.h"

namespace glint::cli {
namespace {

struct Options {
  ReadingOptions reading;
  LanguageSpectrumOptions language;
  std::string unit = "all", form = "calibrated", via = "1", draw = "auto";
  size_t layer = 0, top = 0, show = 4;
  bool no_figures = false;
  std::vector<GivenOption> for_images, for_language, for_spectra;  // the last: not with --scan
};

constexpr size_t kLocalImages = 300;
constexpr size_t kSharedPictures = 10;

// "2" or "2,1": which eigenvector of each layer above, from the last layer down; 1 is the strongest.
std::vector<size_t> parse_via(const std::string& text, size_t steps) {
  std::vector<size_t> via;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    if (word.empty() || word.size() > 6 || word.find_first_not_of("0123456789") != std::string::npos ||
        std::stoul(word) == 0)
      throw Error({.code = ErrorCode::usage,
                   .what = "not a rank: '" + word + "'",
                   .where = "--via " + text,
                   .expected = "a number from 1 on for each layer above, from the last one down: 1 or 2,1"});
    via.push_back(std::stoul(word));
    at = comma + 1;
  }
  if (via.size() > std::max<size_t>(steps, 1))
    throw Error({.code = ErrorCode::usage,
                 .what = "--via names more layers than there are above",
                 .where = "--via " + text,
                 .expected = "at most " + std::to_string(steps)});
  via.resize(steps, 1);
  return via;
}

// One step down: eigenvector `rank` (by magnitude) of each unit as the direction of the layer below.
Units step_down(const ImageReading& reading, const Units& units, const GateLine& line, size_t rank) {
  const std::vector<UnitForm> forms = unit_forms(reading.linalg(), reading.pool(), reading.layer(units.layer),
                                                 line, units.weights, units.constants);
  const size_t width = reading.layer(units.layer).width();
  if (rank > width)
    throw Error({.code = ErrorCode::usage,
                 .what = "there is no eigenvector " + std::to_string(rank),
                 .where = "--via",
                 .expected = "from 1 to " + std::to_string(width)});
  Matrix<double> vectors(units.count(), width);
  std::vector<std::string> names;
  for (size_t u = 0; u < units.count(); u++) {
    const Spectrum& s = forms[u].spectrum;
    const uint32_t k = order_by_magnitude(s.values)[rank - 1];
    std::ranges::copy(s.vectors.view().row(k), vectors.view().row_ptr(u));
    names.push_back(units.names[u] + (units.layer == reading.last() ? " via v" : " v") +
                    std::to_string(rank));
  }
  return reading.directions(units.layer - 1, vectors, std::move(names));
}

// The units asked for, at the last layer.
Units asked_units(const ImageReading& reading, const std::vector<UnitWord>& words) {
  const Units all = reading.classes();
  Units units{.layer = all.layer,
              .names = {},
              .weights = Matrix<double>(words.size(), all.weights.cols()),
              .constants = {}};
  for (size_t i = 0; i < words.size(); i++) {
    const Units one = words[i].minus ? reading.difference(words[i].plus, *words[i].minus) : Units();
    const bool pair = words[i].minus.has_value();
    units.names.push_back(pair ? one.names[0] : all.names[words[i].plus]);
    std::ranges::copy(pair ? one.weights.view().row(0) : all.weights.view().row(words[i].plus),
                      units.weights.view().row_ptr(i));
    if (!all.constants.empty())
      units.constants.push_back(pair ? one.constants[0] : all.constants[words[i].plus]);
  }
  return units;
}

// For the names of files: "3 - 5, 7", "all via v1"; empty for all classes of the last layer.
std::string asked_text(const std::vector<UnitWord>& words, const std::vector<std::string>& class_names,
                       size_t steps, const std::string& via) {
  std::string text;
  bool all = words.size() == class_names.size();
  for (size_t i = 0; i < words.size(); i++) {
    const UnitWord& w = words[i];
    all = all && w == UnitWord{.plus = i};
    text += (i ? ", " : "") + class_names[w.plus] + (w.minus ? " - " + class_names[*w.minus] : "");
  }
  if (all) text = steps ? "all" : "";
  for (const size_t rank : steps ? parse_via(via, steps) : std::vector<size_t>())
    text += (text.find(" via ") == text.npos ? " via v" : " v") + std::to_string(rank);
  return text;
}

bool same(const GateLine& a, const GateLine& b) {
  const auto none = [](const std::vector<double>& s) {
    return std::all_of(s.begin(), s.end(), [](double v) { return v == 0; });
  };
  return a.gain == b.gain && (a.shift == b.shift || (none(a.shift) && none(b.shift)));
}

bool has_linear_part(const std::vector<UnitForm>& units) {
  return std::any_of(units.begin(), units.end(), [](const UnitForm& u) {
    return std::any_of(u.linear.begin(), u.linear.end(), [](double v) { return v != 0; });
  });
}

// Everything at the last layer: both forms of all classes, then the units asked for.
void read_model(OpenedRun& run, const Options& o, const std::vector<UnitWord>& words, SpectrumResult& r) {
  const ImageReading& reading = run.reading();
  const std::vector<uint32_t> labels = labels_of(run.data().test);
  const ImagePass pass = reading.run(run.data().test.pixels, reading.last());
  const Units classes = reading.classes();
  const GateLine weights_line = run.lines("weights")[reading.last()],
                 calibrated_line = run.lines("calibrated")[reading.last()];
  FormReading weights = reading.read(classes, weights_line, pass, labels);
  r.weights = weights.fidelity;
  r.cut_weights = reading.truncation(weights, pass, labels);
  const bool twice = !same(weights_line, calibrated_line);
  FormReading calibrated = twice ? reading.read(classes, calibrated_line, pass, labels) : weights;
  r.calibrated = calibrated.fidelity;
  r.cut_calibrated = twice ? reading.truncation(calibrated, pass, labels) : r.cut_weights;
  r.linear_calibrated = has_linear_part(calibrated.units);
  r.local = reading.local_error(classes, pass, kLocalImages);
  r.whole_model = true;

  FormReading& chosen = o.form == "weights" ? weights : calibrated;
  r.units = asked_units(reading, words);
  for (size_t i = 0; i < words.size(); i++) {
    if (!words[i].minus) {
      r.forms.push_back(chosen.units[words[i].plus]);
      r.r2.push_back(chosen.fidelity.unit_r2[words[i].plus]);
      continue;
    }
    FormReading one = reading.read(reading.difference(words[i].plus, *words[i].minus),
                                   o.form == "weights" ? weights_line : calibrated_line, pass);
    r.forms.push_back(std::move(one.units[0]));
    r.r2.push_back(one.fidelity.unit_r2[0]);
  }
}

// A layer below the last: directions walked down to it.
void read_lower(OpenedRun& run, const Options& o, const std::vector<UnitWord>& words, size_t layer,
                SpectrumResult& r) {
  const ImageReading& reading = run.reading();
  const std::vector<GateLine> lines = run.lines(o.form);
  const std::vector<size_t> via = parse_via(o.via, reading.last() - layer);
  r.units = asked_units(reading, words);
  for (const size_t rank : via) r.units = step_down(reading, r.units, lines[r.units.layer], rank);
  const ImagePass pass = reading.run(run.data().test.pixels, layer);
  FormReading weights = reading.read(r.units, run.lines("weights")[layer], pass);
  FormReading calibrated = reading.read(r.units, run.lines("calibrated")[layer], pass);
  r.weights = weights.fidelity, r.calibrated = calibrated.fidelity;
  r.local = reading.local_error(r.units, pass, kLocalImages);
  FormReading& chosen = o.form == "weights" ? weights : calibrated;
  r.forms = std::move(chosen.units);
  r.r2 = chosen.fidelity.unit_r2;
}

// Pictures of the eigenvectors that are drawn.
void draw_vectors(OpenedRun& run, const Options& o, SpectrumResult& r) {
  const ImageReading& reading = run.reading();
  const std::vector<GateLine> lines = run.lines(o.form);
  const size_t shared = std::min(kSharedPictures, r.shared.values.size());
  std::vector<std::pair<double, std::span<const double>>> wanted;
  r.shown.resize(r.forms.size());
  for (size_t u = 0; u < r.forms.size(); u++) {
    const Spectrum& s = r.forms[u].spectrum;
    const size_t n = s.count();
    for (size_t k = 0; k < std::min(o.show, n) && s.values[k] > 0; k++) {
      r.shown[u].positive.push_back({.value = s.values[k]});
      wanted.emplace_back(s.values[k], s.vectors.view().row(k));
    }
    for (size_t k = 0; k < std::min(o.show, n) && s.values[n - 1 - k] < 0; k++) {
      r.shown[u].negative.push_back({.value = s.values[n - 1 - k]});
      wanted.emplace_back(s.values[n - 1 - k], s.vectors.view().row(n - 1 - k));
    }
  }
  for (size_t k = 0; k < shared; k++)
    wanted.emplace_back(r.shared.values[k], r.shared.directions.view().row(k));
  if (wanted.empty()) return;
  Matrix<double> vectors(wanted.size(), wanted[0].second.size());
  for (size_t i = 0; i < wanted.size(); i++) std::ranges::copy(wanted[i].second, vectors.view().row_ptr(i));
  const Matrix<double> pictures = reading.pictures(r.units.layer, vectors, lines);
  size_t next = 0;
  const auto take = [&](SignedPicture& p) {
    const std::span<const double> row = pictures.view().row(next++);
    p.pixels.assign(row.begin(), row.end());
  };
  for (ShownPictures& s : r.shown) {
    for (SignedPicture& p : s.positive) take(p);
    for (SignedPicture& p : s.negative) take(p);
  }
  for (size_t k = 0; k < shared; k++) {
    r.shared_pictures.push_back({.value = r.shared.values[k]});
    take(r.shared_pictures.back());
  }
}

void write_spectra(const Context& context, OpenedRun& run, const Options& o, const SpectrumResult& r,
                   const std::string& path) {
  const ImageReading& reading = run.reading();
  SpectraToWrite spectra{.units = {},
                         .features = {},
                         .names = r.units.names,
                         .form = r.form,
                         .layer = r.units.layer,
                         .model = reading.weights_hash()};
  for (const UnitForm& f : r.forms) spectra.units.push_back(o.top ? strongest_terms(f, o.top) : f);
  if (r.units.layer == 0) {
    const size_t k = spectra.units[0].spectrum.count(), inputs = run.model().config.inputs;
    spectra.features = Matrix<double>(spectra.units.size() * k, inputs);
    reading.pool().for_tiles(spectra.units.size(), [&](size_t u, size_t) {
      const Features f = features(reading.linalg(), spectra.units[u].spectrum.vectors, reading.input_map());
      std::copy_n(f.maps.data(), f.maps.size(), spectra.features.view().row_ptr(u * k));
    });
  }
  save_spectra(context.files, path, spectra);
}

// The options that a language model shares with images are those of Options.
void spectrum_of_language(Context& context, const Options& o) {
  refuse_given(o.for_images, "is for image models", o.reading.run,
               "--token, --direction, --hidden or --scan, with their options");
  if (!o.reading.data_dir.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "--data-dir is for image data",
                 .where = o.reading.run,
                 .expected = "--data DIR, a folder that glint tokenize made"});
  if (o.language.scan)
    refuse_given(o.for_spectra, "has no effect beside --scan, which lists every token", "--scan",
                 "--scan alone, with --layer, --form and --out");
  LanguageSpectrumOptions l = o.language;
  l.run = o.reading.run, l.data = o.reading.data, l.form = o.form;
  l.layer = o.layer, l.top = o.top, l.show = o.show, l.no_figures = o.no_figures;
  language_spectrum(context, l);
}

void spectrum(Context& context, const Options& o) {
  if (model_kind(open_run(o.reading.run).directory) == ModelKind::language)
    return spectrum_of_language(context, o);
  refuse_given(o.for_language, "is for language models", o.reading.run, "--unit with a class");
  const Engine engine = engine_of(context);
  OpenedRun run(context, engine, o.reading);
  const ImageReading& reading = run.reading();
  if (o.layer > reading.layers())
    throw Error({.code = ErrorCode::usage,
                 .what = "the model has no layer " + std::to_string(o.layer),
                 .where = "--layer",
                 .expected = "from 1 to " + std::to_string(reading.layers())});
  const std::vector<UnitWord> words = parse_units(o.unit, run.class_names());
  const size_t layer = o.layer ? o.layer - 1 : reading.last();
  parse_via(o.via, reading.last() - layer);

  SpectrumResult r;
  r.form = o.form;
  r.asked = asked_text(words, run.class_names(), reading.last() - layer, o.via);
  if (layer == reading.last())
    read_model(run, o, words, r);
  else
    read_lower(run, o, words, layer, r);
  if (r.forms.size() > 1) {
    std::vector<Spectrum> spectra;
    for (const UnitForm& f : r.forms) spectra.push_back(f.spectrum);
    r.shared = shared_directions(engine.linalg(), spectra);
  }
  draw_vectors(run, o, r);

  const std::string directory = context.shared.out.empty() ? run.run().directory : context.shared.out;
  const std::string figures = o.no_figures ? "" : figures_directory(context, directory);
  if (o.no_figures) make_directory(directory);
  const std::string stored = directory + "/spectra" + file_tag(r) + ".safetensors";
  write_spectra(context, run, o, r, stored);
  std::vector<FigureFile> files;
  if (!o.no_figures) {
    files = spectrum_figures(run, r, figures);
    write_figures(context, reading.pool(), files);
  }
  if (context.shared.json) {
    nlohmann::ordered_json j = spectrum_json(run, r);
    j["spectra"] = stored;
    j["figures"] = nlohmann::ordered_json::array();
    for (const FigureFile& f : files) j["figures"].push_back(f.stem + ".svg");
    context.print_json(j);
    return;
  }
  context.out << spectrum_text(run, r, detect_drawing(detect_terminal(1), o.draw));
  context.out << "\nspectra: " << stored << "\n";
  if (!o.no_figures) context.out << "figures: " << files.size() << " in " << figures << " (SVG, PNG, CSV)\n";
}

}  // namespace

void add_spectrum(Program& program) {
  Verb& verb = program.add(
      {.name = "spectrum",
       .group = Group::read,
       .summary = "the eigenvectors of a trained model's weights, and their worth",
       .details = "Each output of a gated layer is read as a quadratic form of the layer's input and "
                  "taken apart into eigenvectors: those with positive eigenvalues speak for the output, "
                  "those with negative ones against it. The form `weights` is the weights alone, with "
                  "the gate taken as the identity; `calibrated` gives each hidden unit a line measured "
                  "on training data, whose shifts add a linear part. How well each form follows the "
                  "model is always shown for both.\n\n"
                  "Image models: the outputs are classes, eigenvectors are pictures. Below the last "
                  "layer the strongest eigenvector of the layer above, or the one that --via names, is "
                  "the output.\n\n"
                  "Language models: any layer by itself, with what it adds to the residual stream along "
                  "a token's unembedding (--token), along a sum of tokens (--direction) or along a "
                  "vector of your own (--hidden FILE.npy) as the output, or the gated product of one "
                  "hidden unit (--hidden N). A token is a word, a piece as glint prints it, or #ID. "
                  "Eigenvectors are shown as the tokens nearest to them, and how much they explain "
                  "without the linear part. --scan lists every token.",
       .examples = {
           {"glint spectrum runs/first", "all classes; figures in runs/first/figures"},
           {"glint spectrum runs/sqs --unit 3-5 --form weights", "class 3 against class 5, weights alone"},
           {"glint spectrum runs/deep --layer 1 --via 2 --unit trouser,coat",
            "below the second strongest eigenvector of the layer above"},
           {"glint spectrum runs/stories --layer 2 --token happy",
            "a language model: eigenvectors as their nearest tokens"},
           {"glint spectrum runs/stories --direction \"happy - sad\"",
            "what makes its last layer say happy rather than sad"}}});
  const auto o = std::make_shared<Options>();
  add_reading_options(verb, o->reading);
  const auto images = [&](const char* flag, Option* option) { o->for_images.push_back({flag, option}); };
  const auto language = [&](const char* flag, Option* option) {
    o->for_language.push_back({flag, option});
    return option;
  };
  const auto spectra = [&](const char* flag, Option* option) {
    o->for_spectra.push_back({flag, option});
  };
  images("--unit",
         verb.text("--unit", o->unit, "Images: 3, a name, 3-5 (3 against 5), 5..9, lists with commas, or all",
                   {.placeholder = "UNITS", .words = {"all"}}));
  verb.size("--layer", o->layer, 0, 1000, "Which layer, from 1 on; 0: the last");
  verb.choice("--form", o->form, {"weights", "calibrated"}, "The form that is drawn and stored");
  spectra("--top", verb.size("--top", o->top, 0, 1000000,
                             "Store only the K strongest eigenpairs of each unit; 0: all"));
  images("--via", verb.text("--via", o->via,
                            "Images, below the last layer: rank of the eigenvector above, a number a layer",
                            {.placeholder = "K[,K]"}));
  spectra("--show", verb.size("--show", o->show, 1, 32, "How many eigenvectors of each sign are shown"));
  spectra("--token", language("--token", verb.text("--token", o->language.token,
                                                   "Language models: tokens as outputs, with commas between",
                                                   {.placeholder = "WORDS"})));
  spectra("--direction",
          language("--direction",
                   verb.text("--direction", o->language.direction,
                             "Language models: a sum of tokens, \"happy - sad\"", {.placeholder = "WORDS"})));
  spectra("--hidden",
          language("--hidden",
                   verb.text("--hidden", o->language.hidden,
                             "Language models: N, the product gate(l) r of one hidden unit, from 1 on; or a "
                             ".npy file with a vector of width d-model, a direction of the residual stream",
                             {.placeholder = "N|FILE", .kind = Value::Kind::file})));
  language("--scan", verb.flag("--scan", o->language.scan,
                               "Language models: every token, the most concentrated spectra first"));
  spectra("--near",
          language("--near", verb.size("--near", o->language.near, 1, 100,
                                       "Language models: how many tokens stand for an eigenvector")));
  images("--draw", verb.choice("--draw", o->draw, drawing_words(), "Images: how to draw in the terminal"));
  spectra("--no-figures", verb.flag("--no-figures", o->no_figures, "Write no figures"));
  verb.share_out("Folder for spectra.safetensors, figures or the scan; default: the run itself");
  verb.share_threads();
  verb.share_isa();
  verb.share_linalg();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { spectrum(context, *o); });
}

}  // namespace glint::cli
