// What a run offers to controls of its readings: data to fit on, and its untrained twin.
#include <algorithm>
#include <cassert>

#include "glint/lab/run.h"
#include "glint/model/redrawn.h"
#include "glint/spectra/family_reading.h"
#include "glint/spectra/language_reading.h"

namespace glint {
namespace {

ImageSet some_of(const ImageSet& set, std::span<const uint32_t> rows) {
  ImageSet out{.pixels = Matrix<uint8_t>(set.pixels.cols() ? rows.size() : 0, set.pixels.cols()),
               .values = Matrix<float>(set.values.cols() ? rows.size() : 0, set.values.cols()),
               .labels = {},
               .height = set.height,
               .width = set.width,
               .classes = set.classes};
  for (size_t i = 0; i < rows.size(); i++) {
    if (out.pixels.size()) std::ranges::copy(set.pixels.view().row(rows[i]), out.pixels.view().row_ptr(i));
    if (out.values.size()) std::ranges::copy(set.values.view().row(rows[i]), out.values.view().row_ptr(i));
    out.labels.push_back(set.labels[rows[i]]);
  }
  return out;
}

}  // namespace

Activations Run::fitted(size_t layer) {
  if (image_) {
    const ImageSet& train = images().train;
    return image_reading().run(train, layer, evenly_spaced(train.count(), kFitted));
  }
  TextRows all = rows();
  const size_t most = std::min(kFitted, tokens());
  Activations a;
  a.inputs = token_model().inputs(all.fill_first(stories().train, most), layer, most);
  return a;
}

bool Run::has_untrained() const { return !foreign_ || redrawn_bytes(foreign_->model.model) <= kTwinBytes; }

std::string Run::untrained_text() const {
  return foreign_ ? "the model with every matrix redrawn" : "an untrained model";
}

Run& Run::untrained() {
  assert(has_untrained());
  if (!untrained_) untrained_.reset(new Run(Twin{*this}));
  return *untrained_;
}

Run::Run(Twin twin) : engine_(twin.of.engine_), source_(twin.of.source_) {
  constexpr uint64_t kSeed = 0;
  StoredCalibration lines;
  if (twin.of.image_) {
    images_ = twin.of.share_images();
    image_ = std::make_unique<LoadedRun>(*twin.of.image_);
    classifier_params(image_->model.config).table.initialise(image_->model.weights.span(), kSeed);
    reading_ = std::make_unique<ImageReading>(image_->model, engine_.compute(), engine_.linalg());
    const ImageSet& train = images_->train;
    const ImageSet some = some_of(train, evenly_spaced(train.count(), kTwinSamples));
    lines = image_reading().calibrate(some, images_->checksum);
    if (source_.refine) lines.refined = image_reading().refined_lines(some, lines.scaled);
  } else if (twin.of.foreign_) {
    twin.of.stories();
    stories_ = twin.of.stories_;
    source_.tokens = std::min(twin.of.tokens(), kTwinSamples);
    const ForeignModel& model = twin.of.foreign_->model;
    foreign_.reset(new ForeignRun{
        RunInfo(), ForeignModel{model.path, redrawn(model.model, engine_.pool(), kSeed), model.tokenizer}});
    foreign_->directory = model.path;
    reading_ = std::make_unique<FamilyReading>(foreign_->model.model, engine_.compute(), engine_.linalg());
    return;  // its layers are calibrated when they are asked for
  } else {
    twin.of.stories();
    stories_ = twin.of.stories_;
    language_ = std::make_unique<LanguageRun>(*twin.of.language_);
    transformer_params(language_->model.config).table.initialise(language_->model.weights.span(), kSeed);
    reading_ = std::make_unique<LanguageReading>(language_->model, engine_.compute(), engine_.linalg());
    TextRows all = rows();
    lines = token_model().calibrate(all.fill_first(stories_->train, kTwinSamples), stories_->checksum);
  }
  calibration_ = std::make_unique<StoredCalibration>(std::move(lines));
}

}  // namespace glint
