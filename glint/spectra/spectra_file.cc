#include "glint/spectra/spectra_file.h"

#include <algorithm>
#include <map>

#include "glint/base/finite.h"
#include "glint/base/text.h"
#include "glint/io/json.h"
#include "glint/io/safetensors.h"
#include "glint/io/seal.h"

namespace glint {

void save_spectra(FileSystem& files, const std::string& path, const SpectraToWrite& spectra) {
  const size_t units = spectra.units.size();
  const size_t k = units ? spectra.units[0].spectrum.count() : 0, d = units ? spectra.units[0].spectrum.width() : 0;
  Matrix<double> values(units, k), vectors(units * k, d), linear(units, d);
  Matrix<int32_t> groups(units, k);
  std::vector<double> constants(units);
  for (size_t u = 0; u < units; u++) {
    const UnitForm& form = spectra.units[u];
    assert(form.spectrum.count() == k && form.spectrum.width() == d);
    std::ranges::copy(form.spectrum.values, values.view().row_ptr(u));
    std::copy_n(form.spectrum.vectors.data(), k * d, vectors.view().row_ptr(u * k));
    std::ranges::copy(form.linear, linear.view().row_ptr(u));
    for (size_t i = 0; i < k; i++) groups(u, i) = static_cast<int32_t>(form.spectrum.groups[i]);
    constants[u] = form.constant;
  }
  Matrix<float> features(spectra.features.rows(), spectra.features.cols());
  for (size_t i = 0; i < features.size(); i++) features.data()[i] = static_cast<float>(spectra.features.data()[i]);
  if (!all_finite(features)) throw_overflow("the pictures of eigenvectors, which are stored as floats");

  std::vector<TensorToWrite> tensors = {tensor_to_write<double>("eigenvalues", values.view()),
                                        {"eigenvectors", Dtype::f64, {units, k, d}, std::as_bytes(vectors.span())},
                                        tensor_to_write<double>("linear", linear.view()),
                                        {"constant", Dtype::f64, {units}, std::as_bytes(std::span(constants))},
                                        tensor_to_write<int32_t>("groups", groups.view())};
  if (!spectra.features.span().empty())
    tensors.push_back({"features", Dtype::f32, {units, k, features.cols()}, std::as_bytes(features.span())});
  std::map<std::string, std::string> metadata = {
      {"format", "glint-spectra"}, {"form", spectra.form},          {"layer", std::to_string(spectra.layer + 1)},
      {"linalg", spectra.linalg},  {"model_sha256", spectra.model}, {"units", Json(spectra.names).dump()}};
  if (spectra.size > 0) metadata["size"] = number_text(spectra.size);
  write_sealed_safetensors(files, path, tensors, metadata);
}

}  // namespace glint
