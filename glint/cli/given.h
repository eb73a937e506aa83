// Options that have no effect in some uses of a verb: where they are given all the same, they are refused.
#pragma once

#include <string>
#include <vector>

#include "glint/cli/verb.h"

namespace glint::cli {

struct GivenOption {
  std::string flag;
  const Option* option;
};

// Error (usage) for the first of them that the user gave: "--unit is for image models".
void refuse_given(const std::vector<GivenOption>& options, const std::string& what, const std::string& where,
                  const std::string& expected);

}  // namespace glint::cli
