#include "glint/io/json.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/io/json_cursor.h"

namespace glint {
namespace {

constexpr size_t kSlack = size_t{48} << 20;
constexpr size_t kMaxFile = size_t{1} << 28;

// What a value costs in a nlohmann tree with glibc's malloc: an element of an array is 16 bytes, and up to
// three times that while its vector grows; a container is a block of its own; a member is a node of a map.
constexpr size_t kElementCost = 48, kContainerCost = 64, kMemberCost = 112, kStringCost = 64;

// Builds the tree and counts what it takes.
class TreeBuilder {
 public:
  // `memory`: what the tree may take.
  TreeBuilder(JsonCursor& cursor, size_t memory) : cursor_(cursor), memory_(memory) {}

  Json value() {
    switch (cursor_.peek()) {
      case JsonCursor::Kind::object:
        return object();
      case JsonCursor::Kind::array:
        return array();
      case JsonCursor::Kind::string: {
        std::string s = cursor_.string();
        pay(kStringCost + s.size());
        return s;
      }
      case JsonCursor::Kind::number:
        return number();
      case JsonCursor::Kind::boolean:
        return cursor_.boolean();
      case JsonCursor::Kind::null:
        cursor_.null();
    }
    return nullptr;
  }

 private:
  Json object() {
    pay(kContainerCost);
    Json result = Json::object();
    auto& members = result.get_ref<Json::object_t&>();
    cursor_.object([&](std::string key, size_t at) {
      pay(kMemberCost + key.size());
      const auto [place, is_new] = members.emplace(std::move(key), nullptr);
      if (!is_new) cursor_.fail("duplicate key " + show(place->first), at, "each key once");
      place->second = value();
    });
    return result;
  }

  Json array() {
    pay(kContainerCost);
    Json result = Json::array();
    auto& elements = result.get_ref<Json::array_t&>();
    cursor_.array([&] {
      pay(kElementCost);
      elements.push_back(value());
    });
    return result;
  }

  // An integer that fits stays one; everything else is the nearest double.
  Json number() {
    const size_t at = cursor_.byte();
    const std::string_view text = cursor_.number();
    uint64_t u = 0;
    if (is_exactly(text, u)) return u;
    int64_t i = 0;
    if (is_exactly(text, i)) return i;
    double d = 0;
    if (!is_exactly(text, d))
      cursor_.fail(show(text) + " is outside the range of a double", at, "a number that a double can hold");
    return d;
  }

  static bool is_exactly(std::string_view text, auto& value) {
    const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    return status == std::errc() && rest == text.data() + text.size();
  }

  void pay(size_t bytes) {
    if (bytes > memory_)
      cursor_.fail("JSON needs too much memory", cursor_.byte(), "the size of the file + 48 MB at most");
    memory_ -= bytes;
  }

  JsonCursor& cursor_;
  size_t memory_;
};

const char* type_name(const Json& j) {
  switch (j.type()) {
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "true or false";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return "an integer";
    case Json::value_t::number_float:
      return "a number with a fraction";
    default:
      return "null";
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where, size_t first_byte) {
  JsonCursor cursor(text, where, first_byte);
  Json result = TreeBuilder(cursor, text.size() + kSlack).value();
  cursor.finish();
  return result;
}

Json read_json(const std::string& path) { return parse_json(read_file(path, kMaxFile), path); }

JsonFields::JsonFields(const Json& object, std::string where, std::string path)
    : object_(&object), where_(std::move(where)), path_(std::move(path)) {
  if (!object.is_object())
    bad_file(where_, (path_.empty() ? "the JSON value" : "field " + show(path_)) + " is " + type_name(object),
             "an object");
}

void JsonFields::fail(const std::string& key, const std::string& what, const std::string& expected) const {
  bad_file(where_, "field " + show(path_.empty() ? key : path_ + "." + key) + " " + what, expected);
}

bool JsonFields::has(const std::string& key) const { return object_->contains(key); }

const Json& JsonFields::value(const std::string& key) const {
  const auto found = object_->find(key);
  if (found == object_->end()) fail(key, "is missing", "a file with this field");
  return *found;
}

JsonFields JsonFields::object(const std::string& key) const {
  return {value(key), where_, path_.empty() ? key : path_ + "." + key};
}

const Json& JsonFields::array(const std::string& key) const {
  const Json& v = value(key);
  if (!v.is_array()) fail(key, std::string("is ") + type_name(v), "an array");
  return v;
}

template <class T>
T JsonFields::required(const std::string& key) const {
  const Json& v = value(key);
  const auto refuse = [&](const char* expected) { fail(key, std::string("is ") + type_name(v), expected); };
  if constexpr (std::is_same_v<T, bool>) {
    if (!v.is_boolean()) refuse("true or false");
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!v.is_string()) refuse("a string");
  } else if constexpr (std::is_same_v<T, double>) {
    if (!v.is_number()) refuse("a number");
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    if (!v.is_number_integer()) refuse("a non-negative integer");
    if (!v.is_number_unsigned() && v.get<int64_t>() < 0) fail(key, "is negative", "a non-negative integer");
  } else {
    if (!v.is_number_integer()) refuse("an integer");
    if (v.is_number_unsigned() && v.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()})
      fail(key, "is too large", "an integer below 2^63");
  }
  return v.get<T>();
}

template bool JsonFields::required<bool>(const std::string&) const;
template int64_t JsonFields::required<int64_t>(const std::string&) const;
template uint64_t JsonFields::required<uint64_t>(const std::string&) const;
template double JsonFields::required<double>(const std::string&) const;
template std::string JsonFields::required<std::string>(const std::string&) const;

void JsonFields::only(const std::vector<std::string>& known) const {
  for (const auto& [key, unused] : object_->items())
    if (std::find(known.begin(), known.end(), key) == known.end()) fail(key, "is not known", suggest(key, known));
}

}  // namespace glint
