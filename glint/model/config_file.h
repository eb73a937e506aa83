// What the config.json files of all kinds of model share: which kind it is, numbers with a range, the gate.
#pragma once

#include <cstdint>
#include <set>
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
  // Error (bad_file) when there is none, or one of an unknown format. `json`: what somebody has read of it.
  explicit ConfigFile(const std::string& directory);
  ConfigFile(const std::string& directory, Json json);
  ConfigFile(const ConfigFile&) = delete;  // fields_ points into json_
  ConfigFile& operator=(const ConfigFile&) = delete;

  const std::string& directory() const { return directory_; }
  ModelKind kind() const { return kind_; }
  void check(ModelKind kind) const;  // Error (bad_file) when it is of another
  const JsonFields& fields() const { return fields_; }
  const Json& json() const { return json_; }
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
  std::string directory_, path_;
  Json json_;
  JsonFields fields_;
  ModelKind kind_;
  bool own_;
};

// The keys of one JSON object of a configuration: what was asked for is remembered, so that the rest can be
// refused. A key with null is as good as absent. Every Error (bad_file) names the family, the key and the
// value.

class ConfigKeys {
 public:
  // Keeps a reference to the object. `title` names the family.
  ConfigKeys(const Json& object, std::string title, std::string where);

  const Json* find(const std::string& key) const;  // null when absent
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const;
  uint64_t count(const std::string& key, uint64_t low, uint64_t high) const;
  uint64_t count_or(const std::string& key, uint64_t low, uint64_t high, uint64_t otherwise) const;
  double real(const std::string& key) const;  // not negative
  double real_or(const std::string& key, double otherwise) const;
  bool flag(const std::string& key, bool otherwise = false) const;
  std::string text_or(const std::string& key, const std::string& otherwise) const;
  // `size` numbers above 0.
  std::vector<double> reals(const std::string& key, size_t size) const;
  // What nobody asked for must be harmless; keys that do not begin with `prefix` are not looked at.
  void no_others(const std::string& prefix = "") const;

 private:
  const Json& object_;
  std::string title_, where_;
  mutable std::set<std::string> taken_;
};

}  // namespace glint
