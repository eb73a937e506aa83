// A trained classifier of images or vectors on disk: config.json says what it is, model.safetensors holds the
// weights under the names that PyTorch code for bilinear models uses. Nothing in either depends on time or
// machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/model/classifier.h"
#include "glint/model/config_file.h"

namespace glint {

class SafetensorsView;

struct ImageModel {
  ClassifierConfig config;
  std::string data;                // the set it was trained on
  size_t height = 28, width = 28;  // of the pictures that it reads; 0: it reads plain vectors
  std::vector<std::string> class_names;
  Matrix<float> weights;  // [1, floats of the table]
};

Json config_to_json(const ImageModel& model);      // config.json
std::string config_text(const ImageModel& model);  // its text
void save_config(FileSystem& files, const std::string& directory, const ImageModel& model);
void save_weights(FileSystem& files, const std::string& path, const ParamTable& table, std::span<const float> weights);
// SHA-256 of the file that save_weights writes.
std::string weights_file_hash(const ParamTable& table, std::span<const float> weights);

// Where weights come from when not from model.safetensors.
using WeightsSource = std::function<Matrix<float>(const ParamTable& table)>;  // [1, floats of the table]

// From a run directory. Error (bad_file) for missing, extra or misshapen tensors and for values that are not
// finite.
ImageModel load_image_model(const ConfigFile& config, const WeightsSource& weights = {});
ImageModel load_image_model(const std::string& directory, const WeightsSource& weights = {});
void load_weights(const std::string& path, const ParamTable& table, std::span<float> weights);
Matrix<float> load_weights(const std::string& path, const ParamTable& table);  // [1, floats of the table]
Matrix<float> load_weights(const SafetensorsView& file, const ParamTable& table);

Json config_to_json(const ClassifierConfig& config);

// A tensor of the model by its name, "blocks.0.weight"; a vector is one row. Error (usage) with the nearest
// name.
ConstMatrixView<float> find_tensor(const ImageModel& model, std::string_view name);

}  // namespace glint
