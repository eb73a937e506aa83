// spectra.safetensors: the spectra of some units of one layer, for use elsewhere. docs/formats.md describes
// it.
#pragma once

#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/spectra/forms.h"

namespace glint {

struct SpectraToWrite {
  std::vector<UnitForm> units;  // all with as many eigenpairs
  Matrix<double> features;      // [units k, inputs]: E' v; empty above the first layer
  std::vector<std::string> names;
  std::string form;
  size_t layer = 0;         // from 0
  std::string model;        // SHA-256 of the weights
  std::string linalg = {};  // what computed them, as LinearAlgebra::description
  double size = 0;          // of the input at which they are drawn; 0: they are the same at every size
};

// The same spectra give the same bytes.
void save_spectra(FileSystem& files, const std::string& path, const SpectraToWrite& spectra);

}  // namespace glint
