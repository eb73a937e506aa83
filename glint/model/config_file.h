// What the config.json files of all kinds of model share: which kind it is, numbers with a range, the gate.
#pragma once

#include <string>
#include <vector>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/kernels/gates.h"

namespace glint {

enum class ModelKind { image, language };
const char* format_name(ModelKind kind);  // the value of "format" in config.json

// The kind of model in a run directory. Error (bad_file) when it has no config.json or one of an unknown
// format.
ModelKind model_kind(const std::string& directory);

Json gate_to_json(const Gate& gate);  // "gate", and for a gate that has them "c", "lambda", "p"

inline constexpr const char* kRunFile = "run.json";  // beside the config.json of a run

class ConfigFile {
 public:
  // Error (bad_file) unless directory/config.json is of this kind.
  ConfigFile(const std::string& directory, ModelKind kind);
  ConfigFile(const ConfigFile&) = delete;  // fields_ points into json_
  ConfigFile& operator=(const ConfigFile&) = delete;

  const JsonFields& fields() const { return fields_; }
  size_t number(const char* key, uint64_t low, uint64_t high) const;
  Gate gate() const;
  // Error for a field that is neither one of these nor "format" or one of the gate's. Only where a run.json
  // says that glint wrote the file: exports and the folders of other programs may have fields of their own.
  void only(std::vector<std::string> known) const;
  bool own() const { return own_; }
  // Runs a check made for the command line; here it is the file that breaks the rule.
  template <class Body>
  void checked(const char* key, const Body& body) const {
    try {
      body();
    } catch (const Error& e) {
      fields_.fail(key, "is refused: " + e.parts().what, e.parts().expected);
    }
  }

 private:
  std::string path_;
  Json json_;
  JsonFields fields_;
  bool own_;
};

}  // namespace glint
