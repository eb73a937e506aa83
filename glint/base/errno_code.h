// The code of an Error about a file that cannot be read.
#pragma once

#include "glint/base/error.h"

namespace glint {

// bad_file when the path is wrong (nothing there, a circle of links), failure when the system refused (no
// permission, a disk that fails): that is nothing that another file could mend.
ErrorCode code_of_errno(int error);

}  // namespace glint
