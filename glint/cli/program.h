// The command line as a whole: chooses the verb, runs it, and turns whatever goes wrong into a message and an
// exit code.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "glint/cli/verb.h"

namespace glint::cli {

class Program {
 public:
  // Registers a verb; the reference stays valid.
  Verb& add(VerbText text);

  const std::vector<std::unique_ptr<Verb>>& verbs() const { return verbs_; }

  // Everything after the program's name. Never throws; gives the exit code.
  int run(const std::vector<std::string>& arguments);

 private:
  void dispatch(const std::vector<std::string>& arguments, std::ostringstream& out, Ranks& ranks);

  std::vector<std::unique_ptr<Verb>> verbs_;
};

}  // namespace glint::cli
