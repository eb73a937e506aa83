// The files that a verb is asked to write: checked before the work begins.
#pragma once

#include <string>

namespace glint::cli {

// `path` must end in `ending` (".png"), must not be a directory. Its directory is made. `flag` and `what`
// ("the figure") are for the Error.
void check_target(const std::string& path, const std::string& ending, const std::string& flag, const std::string& what);

}  // namespace glint::cli
