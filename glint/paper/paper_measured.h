// The numbers that the paper prints as if they had been measured here: one seed, its checkpoints alone. The
// rules are applied to them too.
#pragma once

#include "glint/paper/measured.h"

namespace glint {

Measured paper_measured();

}  // namespace glint
