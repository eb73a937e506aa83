// Image models side by side: the eigenvectors of their classes as pictures, or at the input of the last
// layer.
#include <algorithm>
#include <map>

#include "glint/base/error.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/study/compare_parts.h"
#include "glint/lab/study/run_pairs.h"

namespace glint {
namespace {

struct ImageEntry {
  ComparedModel model;
  std::unique_ptr<ImageRun> run;
  std::vector<GateTerms> lines;
  ModelVectors vectors;
  std::optional<FunctionalForms> functional;  // of the chosen classes
};

// Runs by directory, each opened and decomposed once; data sets that several were trained on are loaded once.
class ImageComparer : public Comparer {
 public:
  ImageComparer(const Engine& engine, const CompareRequest& options) : engine_(engine), options_(options) {
    if (options.space == "tokens") bad_argument("space", "image models have no tokens", "`space=pixels` or `input`");
  }

  const ComparedModel& open(const std::string& run) override { return entry(run).model; }
  PairVectors vectors(const std::string& a, const std::string& b) override {
    return {entry(a).vectors, entry(b).vectors};
  }
  PairVectors random(const std::string& a, const std::string& b, uint64_t draw) override {
    const auto of = [&](const ImageEntry& e, uint64_t seed) {
      return random_vectors(e.run->reading(), units_.size(), e.lines, space(), options_.show, seed);
    };
    return {of(entry(a), 2 * draw), of(entry(b), 2 * draw + 1)};
  }
  std::optional<FunctionalSimilarity> functional(const std::string& a, const std::string& b) override {
    const ImageEntry &x = entry(a), &y = entry(b);
    if (!x.functional || !y.functional) return {};
    return functional_similarity(engine_.linalg(), *x.functional, *y.functional);
  }
  std::vector<size_t> units() const override { return units_; }
  std::vector<std::string> unit_names() const override {
    std::vector<std::string> names;
    for (const size_t u : units_) names.push_back(first_->run->image().class_text(u));
    return names;
  }
  std::string space_name() const override { return space() == CompareSpace::input ? "input" : "pixels"; }
  bool refined() const override { return refined_; }

 private:
  ImageEntry& entry(const std::string& directory) {
    if (const auto found = entries_.find(directory); found != entries_.end()) return found->second;
    ImageEntry entry;
    RunSource source = options_.source;
    source.run = directory, source.refine = false;
    entry.run = open_image_run(engine_, source, data_);
    data_ = entry.run->share_images();
    const Form form = entry.run->form(options_.form);
    if (options_.source.refine && form == Form::scaled) {
      source.refine = refined_ = true;
      entry.run = open_image_run(engine_, source, data_);
    }
    const ImageModel& m = entry.run->model();
    entry.model = {.directory = directory,
                   .gate = std::string(gate_info(m.config.gate.kind).text.name),
                   .data = m.data,
                   .seed = run_seed(directory),
                   .width = m.config.d_model,
                   .layers = m.config.layers,
                   .form = form,
                   .fidelity = {}};
    if (!first_) {
      units_ = parse_class_list(options_.unit, m.class_names);
    } else {
      fits(entry);
    }
    const ImageReading& reading = entry.run->reading();
    entry.lines = entry.run->lines(form);
    const Directions all = reading.classes();
    const Activations pass = entry.run->measured(reading.last());
    Reading read = reading.read(all, entry.lines[reading.last()], pass);
    entry.model.fidelity = read.fidelity;
    if (options_.controls) entry.model.controls = controls(*entry.run, form, pass);
    Directions chosen{
        .layer = all.layer, .names = {}, .weights = Matrix<double>(units_.size(), all.weights.cols()), .constants = {}};
    for (size_t u = 0; u < units_.size(); u++) {
      chosen.names.push_back(all.names[units_[u]]);
      std::ranges::copy(all.weights.view().row(units_[u]), chosen.weights.view().row_ptr(u));
    }
    entry.vectors = model_vectors(reading, chosen, entry.lines, space(), options_.show);
    std::vector<UnitForm> units;
    for (const size_t u : units_) units.push_back(std::move(read.units[u]));
    if (space() == CompareSpace::input)
      entry.functional = functional_forms(engine_.linalg(), units, reading.layer(reading.last()).inputs());
    else if (reading.layers() == 1)
      entry.functional = functional_forms(engine_.linalg(), units, reading.input_map());
    ImageEntry& kept = entries_.emplace(directory, std::move(entry)).first->second;
    if (!first_) first_ = &kept;
    return kept;
  }

  CompareSpace space() const { return options_.space == "input" ? CompareSpace::input : CompareSpace::pixels; }
  // Runs of one configuration share an untrained twin: its weights are those of one seed.
  Controls controls(ImageRun& run, Form form, const Activations& pass) {
    const std::string key = name(form) + " " + run.config().dump();
    const auto twin = untrained_.find(key);
    Controls out =
        controls_of(run, all_classes, twin == untrained_.end() ? std::vector{form} : std::vector<Form>{}, pass);
    if (twin == untrained_.end())
      untrained_[key] = out.untrained.at(form);
    else
      out.untrained[form] = twin->second;
    return out;
  }

  void fits(const ImageEntry& entry) const {
    const ImageModel &one = first_->run->image().model(), &other = entry.run->model();
    const auto refuse = [&](const std::string& what, const std::string& expected, const std::string& hint = {}) {
      bad_argument(first_->model.directory + " and " + entry.model.directory, what, expected, hint);
    };
    const auto size = [](const ImageModel& m) {
      return m.height > 0 ? std::to_string(m.height) + " x " + std::to_string(m.width)
                          : std::to_string(m.config.inputs);
    };
    if (one.height != other.height || one.width != other.width || one.config.inputs != other.config.inputs)
      refuse((one.height > 0 && other.height > 0 ? "the models read pictures of different size, "
                                                 : "the models read samples of different size, ") +
                 size(one) + " and " + size(other),
             "models of one picture size");
    if (one.config.classes != other.config.classes)
      refuse("the models know " + std::to_string(one.config.classes) + " and " + std::to_string(other.config.classes) +
                 " classes",
             "models of the same classes");
    const size_t width = first_->run->image().reading().layer(first_->run->image().reading().last()).width(),
                 other_width = entry.run->reading().layer(entry.run->reading().last()).width();
    if (space() == CompareSpace::input && width != other_width)
      refuse("the inputs of the last layers have different widths, " + std::to_string(width) + " and " +
                 std::to_string(other_width),
             "one width for `space=input`", "`space=pixels` compares models of any width");
  }

  const Engine& engine_;
  const CompareRequest& options_;
  std::shared_ptr<const Dataset> data_;
  std::map<std::string, ImageEntry> entries_;
  const ImageEntry* first_ = nullptr;
  std::vector<size_t> units_;
  std::map<std::string, Fidelity> untrained_;  // by form and configuration
  bool refined_ = false;                       // a run is
};

}  // namespace

std::unique_ptr<Comparer> image_comparer(const Engine& engine, const CompareRequest& request) {
  return std::make_unique<ImageComparer>(engine, request);
}

}  // namespace glint
