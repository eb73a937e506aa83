// The figures of an attack: the curves, the masks, and images before and after.
#pragma once

#include <string>
#include <vector>

#include "glint/lab/attack.h"
#include "glint/lab/figures.h"

namespace glint {

std::vector<FigureFile> draw_attack(const Attack& attack, const std::string& folder);

}  // namespace glint
