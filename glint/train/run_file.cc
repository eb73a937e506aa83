#include "glint/train/run_file.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/io/seal.h"

namespace glint {
namespace {

constexpr size_t kMaxText = size_t{1} << 28;
// A line takes a few hundred bytes. What is kept of one costs about kLineCost in memory, as in io/json.cc;
// all together may take the slack that a reader of JSON has.
constexpr size_t kMaxLine = size_t{1} << 16, kLineCost = 1400, kSlack = size_t{48} << 20;
constexpr const char* kNumbers[] = {"train_loss", "train_accuracy", "test_loss", "test_accuracy", "lr", "seconds"};

// Of a line of metrics, and of the result in run.json.
void check_evaluation(const JsonFields& fields) {
  fields.required<uint64_t>("step");
  fields.optional<uint64_t>("epoch", 0);
  fields.optional<bool>("epoch_end", false);
  for (const char* key : kNumbers) fields.optional<double>(key, 0);
}

void check_fields(const Json& run, const std::string& where) {
  const JsonFields fields(run, where);
  fields.object("identity").object("options");
  fields.optional<std::string>("state", "");
  fields.optional<uint64_t>("steps", 0);
  fields.optional<uint64_t>("evaluations", 0);
  fields.optional<double>("seconds", 0);
  if (fields.has("machine")) fields.object("machine");
  if (fields.has("data")) fields.object("data").optional<std::string>("checksum", "");
  if (fields.has("result")) check_evaluation(fields.object("result"));
  if (!fields.has("files")) return;
  const JsonFields files = fields.object("files");
  for (const auto& [name, hash] : run["files"].items()) files.required<std::string>(name);
}

[[noreturn]] void refuse(const std::string& what, const std::string& where, const std::string& expected) {
  throw Error({.code = ErrorCode::bad_file, .what = what, .where = where, .expected = expected});
}

// The fields of a line that mean something.
Json known_fields(const Json& line) {
  Json known = Json::object();
  for (const char* key : {"step", "epoch", "epoch_end", "test_perplexity"})
    if (line.contains(key) && line[key].is_primitive()) known[key] = line[key];
  for (const char* key : kNumbers)
    if (line.contains(key)) known[key] = line[key];
  return known;
}

Json checked_line(std::string_view line, const std::string& path, size_t at) {
  if (line.size() > kMaxLine) refuse("the line is too long", path, "lines as glint wrote them");
  const Json json = parse_json(line, path, at);
  check_evaluation(JsonFields(json, path));
  if (!is_sealed(line, json)) refuse("it is not what its checksum says", path, "lines as glint wrote them");
  return known_fields(json);
}

}  // namespace

RunFile read_run_file(const std::string& directory) {
  const std::string path = directory + "/" + kRunFile, text = read_file(path, kMaxText);
  RunFile run{.json = parse_json(text, path)};
  if (!run.json.is_object()) JsonFields(run.json, path);  // says what it is
  if (!is_sealed(text, run.json))
    refuse("the file is damaged: it is not what its checksum says", path, "run.json as glint wrote it");
  check_fields(run.json, path);
  if (!run.json.contains("state")) run.json["state"] = "";
  return run;
}

std::string damage(const std::string& directory, const Json& run, const std::string& name) {
  if (!run.contains("files") || !run["files"].contains(name)) return {};
  const std::string path = directory + "/" + name;
  return exists(path) ? damage(MappedFile(path).bytes(), run, name) : "is missing";
}

std::string damage(std::span<const std::byte> file, const Json& run, const std::string& name) {
  if (!run.contains("files") || !run["files"].contains(name)) return {};
  return sha256_hex(file) == run["files"][name].get<std::string>()
             ? ""
             : "is damaged: its SHA-256 is not the one in run.json";
}

std::string damage(const std::string& path) {
  try {
    if (is_sealed(SafetensorsFile(path))) return {};
    return "is damaged: it is not what its checksum says";
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_file) throw;
    return "is damaged: " + e.parts().what;
  }
}

Metrics scan_metrics(const std::string& directory) {
  Metrics metrics;
  const std::string path = directory + "/" + kMetricsFile;
  if (!exists(path)) return metrics;
  const std::string text = read_file(path, kMaxText);
  size_t begin = 0, memory = text.size() + kSlack;
  for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    try {
      Json line = checked_line({text.data() + begin, end - begin}, path, begin);
      if (!metrics.lines.empty() && line["step"] <= metrics.lines.back()["step"])
        refuse("the steps do not go up", path, "one line per evaluation");
      if (memory < kLineCost) refuse("too many lines", path, "the size of the file + 48 MB in memory");
      memory -= kLineCost;
      metrics.lines.push_back(std::move(line));
    } catch (const Error& e) {
      if (metrics.damaged++ == 0)
        metrics.first_damaged = "the line at byte " + std::to_string(begin) + ": " + e.parts().what;
    }
  }
  return metrics;
}

std::vector<Json> read_metrics(const std::string& directory) {
  Metrics metrics = scan_metrics(directory);
  const std::string path = directory + "/" + kMetricsFile;
  if (metrics.damaged > 0)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the file is damaged: " + metrics.first_damaged,
                 .where = path,
                 .expected = "metrics as glint wrote them",
                 .hint = "the command that trained the run repairs what can be repaired"});
  if (!exists(directory + "/" + kRunFile)) return std::move(metrics.lines);
  const RunFile run = read_run_file(directory);
  const uint64_t steps = run.json.value("steps", uint64_t{0});
  if (run.finished() && (metrics.lines.empty() || metrics.lines.back()["step"] != steps))
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the metrics of a finished run end too early",
                 .where = path,
                 .expected = "a last line of step " + std::to_string(steps),
                 .hint = "the command that trained the run makes the last evaluation again"});
  return std::move(metrics.lines);
}

std::string metrics_line(const Json& line) { return sealed_text(line) + "\n"; }

}  // namespace glint
