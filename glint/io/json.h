// JSON beyond what nlohmann-json does: a strict parser (duplicate keys refused, depth and memory bounded,
// errors with file and byte) and fields with a type check.
#pragma once

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace glint {

using Json = nlohmann::json;

// `where` names the file in errors; `first_byte` is the place of the text in it. The tree may take the size
// of the text + 48 MB: with the text itself that keeps the promise of twice the file + 64 MB.
Json parse_json(std::string_view text, const std::string& where, size_t first_byte = 0);
Json read_json(const std::string& path);

// The fields of one object. `where` is the file; errors name the field by its path, as in "model.width".
class JsonFields {
 public:
  JsonFields(const Json& object, std::string where, std::string path = "");

  bool has(const std::string& key) const;
  JsonFields object(const std::string& key) const;
  const Json& array(const std::string& key) const;
  // T: bool, int64_t, uint64_t, double, std::string. Integers are taken for double, never the reverse; the
  // number must lie in the range of T.
  template <class T>
  T required(const std::string& key) const;
  template <class T>
  T optional(const std::string& key, T otherwise) const {
    return has(key) ? required<T>(key) : otherwise;
  }
  // Error for a field whose name is not in the list, with the nearest name that is.
  void only(const std::vector<std::string>& known) const;
  // An Error (bad_file) about a field, for checks that the caller makes.
  [[noreturn]] void fail(const std::string& key, const std::string& what, const std::string& expected) const;

 private:
  const Json& value(const std::string& key) const;
  const Json* object_;
  std::string where_, path_;
};

// A number in a result for programs: null where it may be infinite or unknown, as docs/formats.md lists.

inline nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace glint
