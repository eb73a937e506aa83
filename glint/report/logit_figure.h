// Why a language model gives a token its logit, drawn: bars of all parts of the logit, and beside them the
// eigenvectors of some layers with their words.
#pragma once

#include "glint/report/signed_picture.h"

namespace glint {

struct LogitPart {
  std::string name;
  double value = 0;
};

struct LogitTerm {
  std::string name;        // "eigenvector 1", "linear part", "rest"
  double value = 0;        // of the logit
  std::string words = {};  // tokens that stand for it
};

// The GLU of one layer.
struct LogitShare {
  std::string title;
  std::vector<LogitTerm> terms;  // they add up to its part
};

struct LogitFigure {
  std::string title;
  std::vector<std::string> notes = {};  // lines below
  std::vector<LogitPart> parts;         // they add up to the logit
  std::vector<LogitShare> shares = {};
};

// The CSV has one line per part and term: of, name, value, words.
Figure logit_figure(const LogitFigure& figure);

}  // namespace glint
