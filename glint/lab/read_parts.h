// What the parts of read.cc share; not for callers.
#pragma once

#include "glint/lab/read.h"
#include "glint/lab/run.h"

namespace glint {

ReadResult read_images(const Engine& engine, Run& run, const ReadRequest& request);
ReadResult read_language(const Engine& engine, Run& run, const ReadRequest& request);

// What the result says of the run, its data and its calibration.
void describe(Run& run, ReadResult& result);
// The form of the weights where nothing can be measured: spectra, and what the result says of the model.
void read_weights(Run& run, const Directions& directions, size_t top, ReadResult& result);

// Error (usage) for what is no form of a layer: auto, weights, scaled, calibrated.
void check_form(const std::string& form);
// The folder that results go to, made when it is not there.
std::string result_folder(const std::string& out, const std::string& run);

// `top` reaches the solver where that saves work: layers so wide that few eigenpairs come much faster than
// all.
Wanted wanted_pairs(const GluLayerView& layer, size_t top);
// The directions through every form that the run has, in the order of Run::forms; lines that are the same are
// read once.
struct FormReading {
  std::string name;
  GateLine line;
  std::shared_ptr<const Reading> reading;  // shared by forms whose lines are the same
};
std::vector<FormReading> read_forms(Run& run, const Directions& directions, const Activations& activations,
                                    std::span<const uint32_t> labels, const Wanted& wanted);
const FormReading& form_called(const std::vector<FormReading>& forms, const std::string& name);
ReadForm form_result(const std::string& name, const Reading& reading);
// Of the forms that the result has.
std::vector<std::string> form_names(const ReadResult& result);
void set_directions(ReadResult& result, const std::vector<std::string>& names, Reading reading);

// Writes spectra and figures as the request wants them, and notes their names in the result.
void write_read_files(const Engine& engine, const GluModel& model, const ReadRequest& request,
                      const std::string& folder, ReadResult& result);

// Of the `show` strongest eigenvectors of each sign, and of the linear part, the `near` nearest tokens.
void add_near_tokens(const Run& run, size_t near, size_t show, ReadDirection& direction);
// The passages that the request wants.
void add_passages(const Engine& engine, Run& run, const ReadRequest& request, ReadResult& result);
// The same as a result of its own.
PassagesResult passages_of(const ReadResult& result);

}  // namespace glint
