// What the parts of read.cc share; not for callers.
#pragma once

#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/read.h"

namespace glint {

ReadResult read_images(const Engine& engine, ImageRun& run, const ReadRequest& request);
ReadResult read_language(const Engine& engine, LanguageRun& run, const ReadRequest& request);

// What the result says of the run; of its data and its calibration.
void describe_model(Run& run, ReadResult& result);
void describe_data(Run& run, ReadResult& result);
// The eigenvectors of one form with nothing measured.
void read_unmeasured(Run& run, const Directions& directions, const Wanted& wanted, ReadResult& result);
// Why nothing is measured: nobody asked for it, or the form of the weights is read and there is nothing to
// measure on. "": something is.
std::string why_alone(Run& run, const ReadRequest& request);

// The folder that results go to, made when it is not there.
std::string result_folder(const std::string& out, const std::string& run);

// `top` reaches the solver where that saves work: layers so wide that few eigenpairs come much faster than
// all.
Wanted wanted_pairs(const GluLayerView& layer, size_t top);
// The directions through every form that the run has, in the order of Run::forms; lines that are the same are
// read once.
struct FormReading {
  Form form = Form::weights;
  GateTerms line;
  std::shared_ptr<const Reading> reading;  // shared by forms whose lines are the same
};
std::vector<FormReading> read_forms(Run& run, const Directions& directions, const Activations& activations,
                                    std::span<const uint32_t> labels, const Wanted& wanted);
const FormReading& form_called(const std::vector<FormReading>& forms, Form form);
ReadForm form_result(Form form, const Reading& reading);
// Of the forms that the result has.
std::vector<Form> forms_of(const ReadResult& result);
void set_directions(ReadResult& result, const std::vector<std::string>& names, Reading reading);

// Writes spectra and figures as the request wants them, and notes their names in the result.
void write_read_files(const Engine& engine, const GluModel& model, const ReadRequest& request,
                      const std::string& folder, ReadResult& result);

// Of the `show` strongest eigenvectors of each sign, and of the linear part, the `near` nearest tokens.
void add_near_tokens(const LanguageRun& run, size_t near, size_t show, ReadDirection& direction);
// The passages that the request wants.
void add_passages(const Engine& engine, LanguageRun& run, const ReadRequest& request, ReadResult& result);
// The same as a result of its own.
PassagesResult passages_of(const ReadResult& result);

}  // namespace glint
