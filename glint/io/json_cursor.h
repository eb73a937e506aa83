// A strict pull parser over JSON text (RFC 8259): the caller asks for what must come next. It allocates only
// the string that it returns, so that the caller decides what a hostile text may cost. Every complaint is an
// Error (bad_file) with the file and the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace glint {

class JsonCursor {
 public:
  enum class Kind { object, array, string, number, boolean, null };

  // `where` names the file, `first_byte` is the place of text[0] in it.
  JsonCursor(std::string_view text, std::string where, size_t first_byte = 0, size_t max_depth = 64);

  Kind peek();  // what the next value is; skips white space

  // Calls member(std::string key, size_t byte_of_key) for each member; it must consume the value. Duplicate
  // keys are the caller's business: only the caller knows the cheapest way to find them.
  void object(auto&& member) {
    open('{', "an object");
    for (bool first = true; more('}', first); first = false) {
      const size_t at = byte();
      std::string key = string("a key in quotes");
      take(':', "':' after a key");
      member(std::move(key), at);
    }
  }
  void array(auto&& element) {
    open('[', "an array");
    for (bool first = true; more(']', first); first = false) element();
  }
  std::string string(const char* expected = "a string");
  std::string_view number();    // the text of a number, checked against the grammar
  uint64_t unsigned_integer();  // digits only: no sign, no fraction, no exponent
  bool boolean();
  void null();
  void skip();    // any value, checked like the others
  void finish();  // nothing but white space may be left

  size_t byte();  // place in the file of the next token
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& what, size_t at, const std::string& expected = "") const;

 private:
  void skip_space();
  void open(char bracket, const char* expected);
  bool more(char bracket, bool first);
  void take(char c, const char* expected);
  void word(std::string_view expected);
  void escape(std::string& out);
  uint32_t hex4();
  [[noreturn]] void unexpected(const std::string& expected) const;
  bool digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  std::string_view text_;
  std::string where_;
  size_t first_byte_;
  size_t depth_left_;
  size_t at_ = 0;
};

// `s` in double quotes for a JSON text. Error (failure) when it is not UTF-8.
std::string json_quote(std::string_view s);

// `s` in single quotes for an error message: control bytes escaped, cut after 80 bytes.
std::string show(std::string_view s);

}  // namespace glint
