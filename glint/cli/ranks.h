// One of several processes of a verb: they start together, the first speaks, and an error of any of them is
// printed once. See glint/train/launcher.h.
#pragma once

#include <memory>

#include "glint/base/error.h"
#include "glint/train/launcher.h"

namespace glint::cli {

class Ranks {
 public:
  Ranks() : launcher_(find_launcher()) {}

  // The group of the launcher; alone when there is none. A verb that shares its work calls it first.
  glint::Group& start();
  // The group when start() was called, else null.
  glint::Group* started() const { return group_.get(); }
  // Whether this process prints: rank 0. Before the start what the launcher says counts.
  bool speaks() const { return group_ ? group_->first() : launcher_.rank == 0; }

  // An error of a process that does not speak: rank 0 prints it and ends all. Returns when rank 0 did not.
  void report(const ErrorParts& parts) const;
  // After the error was printed. Ends all processes, this one too, when there are several.
  void end(int code) const;

 private:
  Launcher launcher_;
  std::unique_ptr<glint::Group> group_;
};

}  // namespace glint::cli
