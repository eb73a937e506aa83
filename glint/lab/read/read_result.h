// How a ReadResult is filled in, for read*.cc.
#pragma once

#include <string>
#include <vector>

#include "glint/lab/models/image_run.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_forms.h"

namespace glint {

ReadResult read_images(const Engine& engine, ImageRun& run, const ReadRequest& request);
ReadResult read_language(const Engine& engine, LanguageRun& run, const ReadRequest& request);

// What the result says of the run; of its data and its calibration.
void describe_model(Run& run, ReadResult& result);
void describe_data(Run& run, ReadResult& result);
// Why nothing is measured: nobody asked for it, or the form of the weights is read and there is nothing to
// measure on. "": something is.
std::string why_alone(Run& run, const ReadRequest& request);
// The eigenvectors of one form with nothing measured.
void read_unmeasured(Run& run, const Directions& directions, const Wanted& wanted, ReadResult& result);
void set_forms(ReadResult& result, FormsReading forms);
void set_directions(ReadResult& result, const std::vector<std::string>& names, Reading reading);

// Writes spectra and figures as the request wants them, and notes their names in the result.
void write_read_files(const Engine& engine, const GluModel& model, const ReadRequest& request,
                      const std::string& folder, ReadResult& result);

// What a person must be told before trusting a reading, in sentences.

// Below this R2 a form is said not to read a layer: it leaves more than half of the variance unexplained.
inline constexpr double kReadableR2 = 0.5;
// The one that a reading begins with: how far its eigenvectors can be trusted, by R2 and the linear map.
std::string trust_sentence(const ReadResult& result);
// One for every form that does not read layer `layer` (from 0 on), one where a linear map of the layer's input does
// better than the form that is shown, and one where that form reads `untrained` about as well.
std::vector<std::string> trust_sentences(const std::vector<ReadForm>& forms, Form shown, const Controls& controls,
                                         size_t layer, const std::string& untrained);
// And one where the model is too large to be redrawn.
void add_missing_control(const Run& run, std::vector<std::string>& sentences);

}  // namespace glint
