// A length of time as people read it.
#pragma once

#include <string>

namespace glint {

// 3725 -> "1:02:05", 65 -> "1:05".
std::string duration_text(double seconds);

}  // namespace glint
