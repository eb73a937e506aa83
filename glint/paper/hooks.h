// How the paper's experiments tell how far they are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace glint {

struct PaperProgress {
  std::string label;             // "train", "read models", "timing"
  uint64_t done = 0, total = 0;  // total 0: not known
  uint64_t start = 0;            // of `done`, what was done before this call
  std::string unit;              // plural: "models"
  std::string detail = {};       // what it is at
};

// All may be empty. One call at a time, from any thread.
struct PaperHooks {
  std::function<void(const PaperProgress&)> progress;
  std::function<void(const std::string&)> line;  // a run has ended, for logs
  std::function<void(const std::string&)> note;

  void tell(const PaperProgress& p) const {
    if (progress) progress(p);
  }
};

}  // namespace glint
