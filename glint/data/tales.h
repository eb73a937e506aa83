// The built-in stories: a grammar of small plots with people, animals, places, things and feelings. Needs no
// files, so tests and a first run use it. A tale is a function of (seed, index) alone.
#pragma once

#include <cstdint>
#include <string>

namespace glint {

// Train tales have the indices from 0, validation tales those from here: neither count changes the other set.
inline constexpr uint64_t kTaleValidStart = uint64_t{1} << 40;

// Five to twelve sentences, in ASCII.
std::string tale(uint64_t seed, uint64_t index);

}  // namespace glint
