// Asks the system whether there is room in memory, without taking it. Some libraries end the process, or
// never return, when they get no memory; such a library is only called where there is room for what it will
// want.
#pragma once

#include <cstddef>

namespace glint {

// Whether this process could have `times` blocks of so many bytes of address space now, beside what it has.
// Limits of the process (ulimit -v, -d) and of the system count; nothing is touched, and all is given back.
bool room_for(size_t bytes, size_t times = 1);

}  // namespace glint
