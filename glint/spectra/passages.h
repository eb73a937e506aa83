// What an eigenvector or a hidden unit responds to: the passages of a text in which it is strongest. At the
// input x of the layer at a token
//
//   an eigenvector shows  p = v . x        and is as strong as  |value| p^2
//   an output shows       p = q . hidden   and is as strong as  sign p       (one hidden unit: gate(l) r)
//
// Text goes through piece by piece; only the passages that are strongest so far are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glint/spectra/glu_model.h"

namespace glint {

struct Probe {
  double value = 0;                  // of an eigenvector
  std::vector<double> vector = {};   // [width]; empty: an output
  std::vector<double> weights = {};  // [h] of an output
  double sign = 1;
};

struct Passage {
  uint64_t story = 0, first = 0;  // of the text, from 0; the place of the first token in the story
  std::vector<TokenId> tokens;
  std::vector<double> shown;  // p at each of them
  size_t strongest = 0;       // among them
  double strength = 0;        // there
};

struct ProbePassages {
  std::vector<Passage> passages;  // the strongest first
  double mean = 0;                // strength over all tokens; of an output |p|
};

// Tokens of a story that fit the model's context; those before `from` count for nothing.
struct Stretch {
  uint64_t story = 0, first = 0;
  std::vector<TokenId> tokens;
  size_t from = 0;
};

struct PassageOptions {
  size_t count = 3;                // of passages
  size_t before = 20, after = 10;  // tokens around the strongest
};

class PassageFinder {
 public:
  // Keeps a reference.
  PassageFinder(const GluModel& model, size_t layer, std::vector<Probe> probes, const PassageOptions& options);

  // The stretches of a story in their order. A passage is of another story than all others where there are
  // enough of them; those of one story never overlap; one that begins like another up to its strongest token
  // is left out. The same stretches give the same result at any number of threads; they are all in memory at
  // once, and so is what the layer reads there.
  void add(std::span<const Stretch> stretches);

  uint64_t tokens() const { return tokens_; }  // that counted
  std::vector<ProbePassages> result() const;   // one per probe

 private:
  struct Kept {
    size_t rank;  // among those of its stretch, from 0
    Passage passage;
  };
  Matrix<double> values(ConstMatrixView<float> x) const;
  double strength(size_t probe, double shown) const;
  void take(size_t probe, const Stretch& stretch, ConstMatrixView<double> shown);
  Passage cut(size_t probe, const Stretch& stretch, ConstMatrixView<double> shown, size_t at) const;

  const GluModel& model_;
  size_t layer_;
  std::vector<Probe> probes_;
  PassageOptions options_;
  Matrix<double> vectors_, weights_;           // of the probes that are eigenvectors, and of the others
  std::vector<size_t> vector_at_, weight_at_;  // their probes
  std::vector<std::vector<Kept>> kept_;        // per probe, the best first
  std::vector<double> sums_;
  uint64_t tokens_ = 0;
};

}  // namespace glint
