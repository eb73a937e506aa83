// How the runs of one kind are opened and compared; for compare*.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glint/lab/study/compare.h"

namespace glint {

// Compares two models in a space that both have.
struct PairVectors {
  ModelVectors a, b;
};

class Comparer {
 public:
  virtual ~Comparer() = default;
  // Opened, decomposed and measured once. Error (usage) for one that does not fit the first.
  virtual const ComparedModel& open(const std::string& run) = 0;
  virtual PairVectors vectors(const std::string& a, const std::string& b) = 0;
  // Random orthonormal directions in the place of both models' eigenvectors.
  virtual PairVectors random(const std::string& a, const std::string& b, uint64_t draw) = 0;
  // None where the models are no quadratic forms of the space.
  virtual std::optional<FunctionalSimilarity> functional(const std::string& a, const std::string& b) = 0;
  // Known once a run was opened.
  virtual std::vector<size_t> units() const = 0;
  virtual std::vector<std::string> unit_names() const = 0;
  virtual std::string space_name() const = 0;
  virtual std::string space_text() const { return ""; }
  virtual std::vector<std::string> notes() const { return {}; }
  virtual bool refined() const { return false; }  // a run is read through its refined form
};

std::unique_ptr<Comparer> image_comparer(const Engine& engine, const CompareRequest& request);
std::unique_ptr<Comparer> language_comparer(const Engine& engine, const CompareRequest& request);

}  // namespace glint
