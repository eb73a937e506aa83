// The keys of one JSON object of a configuration: what was asked for is remembered, so that the rest can be
// refused. A key with null is as good as absent. Every Error (bad_file) names the family, the key and the
// value.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "glint/io/json.h"

namespace glint {

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
