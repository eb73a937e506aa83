// One input explained: what the model makes of it, and the eigenvectors that speak for and against each
// class, with what each contributes.
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
  double positive = 0, negative = 0, rest = 0;  // sums of all terms; rest: linear part, constant, residual
  std::vector<ExplainedTerm> forward, against;  // strongest first
  std::string rest_name = "rest";               // what `rest` is of this form: "linear part"
};

struct Explanation {
  std::string title;
  std::string note = {};  // a line below: how far to trust it
  PictureSize size;
  std::vector<double> input;             // 0 to 1
  std::vector<std::string> class_names;  // of all classes
  std::vector<double> logits, probabilities;
  std::vector<ExplainedClass> classes;  // those explained
};

// The CSV has a line a term: class, side, rank, eigenvalue, projection, contribution.
Figure explain_figure(const Explanation& explanation);

}  // namespace glint
