// One input explained: what the model makes of it, and the eigenvectors that speak for and against each
// class, with what each contributes, beside what is not theirs: the linear part and the rest.
#pragma once

#include "glint/report/signed_picture.h"

namespace glint {

struct ExplainedTerm {
  size_t rank = 0;  // 1: the largest eigenvalue
  double eigenvalue = 0, projection = 0, contribution = 0;
  std::vector<double> pixels = {};  // with the sign that makes the projection positive
};

struct ExplainedClass {
  std::string name;
  double logit = 0;
  // They add up to the logit:
  double positive = 0, negative = 0;            // all eigenvectors for, and against
  double linear = 0;                            // the linear part of the form
  double beside = 0;                            // what is no part of the layer: the head's bias and the residual path
  double rest = 0;                              // what the form leaves out
  std::vector<ExplainedTerm> forward, against;  // strongest first
  std::vector<double> linear_pixels = {};       // the picture of the linear part; empty: it has none
};

struct Explanation {
  std::string title;
  std::string note = {};  // below, wrapped: how far to trust it
  PictureSize size;
  std::vector<double> input;             // 0 to 1
  std::vector<std::string> class_names;  // of all classes
  std::vector<double> logits, probabilities;
  std::vector<ExplainedClass> classes;  // those explained
};

// The CSV has one line per term: class, side, rank, eigenvalue, projection, contribution; then the sums.
Figure explain_figure(const Explanation& explanation);

}  // namespace glint
