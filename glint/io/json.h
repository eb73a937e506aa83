// JSON beyond what nlohmann-json does: a strict parser (duplicate keys refused, depth and memory bounded,
// errors with file and byte), fields with a type check, and JSON lines whose last line a crash may have cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

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

// Calls `each` with every complete line (one that ends in '\n') and its place. Returns the byte after the
// last complete line: what follows was cut by a crash, and a writer that goes on truncates to there. A
// complete line that is not JSON is an Error.
size_t scan_json_lines(std::string_view text, const std::string& where,
                       const std::function<void(Json line, size_t byte)>& each);

struct JsonLines {
  std::vector<Json> lines;
  size_t end = 0;    // the byte after the last complete line
  bool cut = false;  // something follows it
};
// All lines at once, in the memory that parse_json may take; scan_json_lines has no such limit.
JsonLines parse_json_lines(std::string_view text, const std::string& where);
JsonLines read_json_lines(const std::string& path);

}  // namespace glint
