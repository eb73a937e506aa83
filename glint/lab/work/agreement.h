// What the ranks of a group settle before they compute: that they are the same program, and which
// instructions all of them have.
#pragma once

#include <functional>
#include <string>

#include "glint/base/cpu.h"
#include "glint/train/group.h"

namespace glint {

struct InstructionLevel {
  Isa isa = Isa::baseline;
  Bf16Unit unit = Bf16Unit::none;
};

// The lowest of all ranks; `note` (may be empty) is told at rank 0 when that is not what each has, and when
// the ranks of a host have more threads than it has cores. Error (usage) for another version on a rank, and
// for bf16 that only some are told to emulate.
InstructionLevel agree(Group& group, const InstructionLevel& own, const std::function<void(const std::string&)>& note);

// A sentence where the ranks on one host would use more threads than it has cores, otherwise "". At
// rank 0; all call it.
std::string crowded_hosts(Group& group, size_t threads);

}  // namespace glint
