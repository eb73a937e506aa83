// The figures of an attack: the curves, the masks, and images before and after.
#pragma once

#include <string>
#include <vector>

#include "glint/lab/study/attack.h"
#include "glint/lab/work/result_files.h"

namespace glint {

std::vector<FigureFile> draw_attack(const Attack& attack, const std::string& folder);

}  // namespace glint
