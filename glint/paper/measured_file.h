// What was measured, in a file: OUT/measured.json, from which a report can be judged and written again
// without a run.
//
//   {"schema": "glint-measured/1", "what": "all", ..., "sha256": "..."}
//
// Numbers read back as the same doubles, so that the report is the same to the byte.
#pragma once

#include <string>

#include "glint/base/file.h"
#include "glint/paper/measured.h"

namespace glint {

inline constexpr const char* kMeasuredFile = "measured.json";

// Error (numeric) for a number that is not finite.
void write_measured(FileSystem& files, const std::string& path, const Measured& measured);

// Error (bad_file) for a file that is not there, is damaged, lacks something or has what it must not, and for
// lists whose lengths do not fit each other: what it gives can be judged and written.
Measured read_measured(const std::string& path);

// Whether measured numbers fit together, so that rules, tables and figures may rely on it.

// Error (bad_file) that names what does not fit; `where` is the file.
void check_measured(const Measured& measured, const std::string& where);

}  // namespace glint
