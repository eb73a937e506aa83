// The arrays of an export as .npy files, with the list of them for manifest.json. For lab/export*.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glint/io/tensor.h"
#include "glint/lab/publish/export.h"
#include "glint/lab/work/result_files.h"

namespace glint {

// Writes arrays and keeps the list of them.
class ExportArrays {
 public:
  ExportArrays(const Engine& engine, const ExportFolder& folder) : engine_(engine), folder_(folder) {}

  // `about` is added to what the manifest says of the array.
  void add(const std::string& name, Dtype dtype, std::vector<size_t> shape, std::span<const std::byte> bytes,
           const OrderedJson& about = OrderedJson::object());
  // All weights of a table; `about` says of each by its name what it adds.
  void add_weights(const ParamTable& table, std::span<const float> weights,
                   const std::function<OrderedJson(const std::string&)>& about = {});
  // The gains and shifts of the calibrated gates of every layer and, where there are any, the gains and
  // slopes of the scaled ones. Gives what the manifest says of the calibration.
  OrderedJson add_calibration(const StoredCalibration& calibration);
  // The spectra that lie in a folder, each with what its rows are, those of all classes first. Gives what the
  // manifest says of them.
  OrderedJson add_spectra(const std::string& directory);

  const std::vector<ExportedArray>& list() const { return list_; }

 private:
  OrderedJson add_spectra_file(const std::string& path);
  const Engine& engine_;
  const ExportFolder& folder_;
  std::vector<ExportedArray> list_;
};

OrderedJson to_json(const std::vector<ExportedArray>& arrays);
// A tensor's name becomes a file's: nothing in it may lead elsewhere.
bool fits_file(const std::string& name);

}  // namespace glint
