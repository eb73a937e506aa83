// What a run says of itself on disk: run.json with the checksums of the other files, and metrics.jsonl. Both
// carry a checksum of their own (io/seal.h), and whoever reads them here notices damage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/io/json.h"
#include "glint/model/config_file.h"

namespace glint {

inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kWeightsFile = "model.safetensors";

struct RunFile {
  Json json;
  bool finished() const { return json["state"] == "finished"; }
};

// run.json of a directory. Error (bad_file) when it is missing, damaged, or has a field of another type than
// the trainer writes.
RunFile read_run_file(const std::string& directory);

// What is wrong with a file that run.json has the checksum of: "is missing", "is damaged: ..."; "" when it is
// as it was written, and when run.json does not speak of it.
std::string damage(const std::string& directory, const Json& run, const std::string& name);
std::string damage(std::span<const std::byte> file, const Json& run, const std::string& name);
// The same for a safetensors file with its own checksum.
std::string damage(const std::string& path);

struct Metrics {
  std::vector<Json> lines;    // those that are whole, without their checksums
  uint64_t damaged = 0;       // how many are not
  std::string first_damaged;  // where the first of those is, and what is wrong with it
};
// A line that a crash cut is left out. No file is no lines.
Metrics scan_metrics(const std::string& directory);

// All lines of a run's metrics. Error (bad_file) for damage, and when those of a finished run end before its
// last step.
std::vector<Json> read_metrics(const std::string& directory);

// The text of a line, with its checksum.
std::string metrics_line(const Json& line);

}  // namespace glint
