// How the paper's experiments tell how far they are.
#pragma once

#include <functional>
#include <string>

#include "glint/lab/work/engine.h"

namespace glint {

// All may be empty. One call at a time, from any thread.
struct PaperHooks {
  std::function<void(const ProgressReport&)> progress;
  std::function<void(const std::string&)> line;  // a run has ended, for logs
  std::function<void(const std::string&)> note;

  void tell(const ProgressReport& p) const {
    if (progress) progress(p);
  }
};

}  // namespace glint
