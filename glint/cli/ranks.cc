#include "glint/cli/ranks.h"

namespace glint::cli {

glint::Group& Ranks::start() {
  if (!group_) group_ = launched_group(launcher_);
  return *group_;
}

void Ranks::report(const ErrorParts& parts) const {
  if (group_) group_->report(Error(parts));
}

void Ranks::end(int code) const {
  if (group_) group_->abort(code);
}

}  // namespace glint::cli
