// A request of the library from a Python dict. Every value is checked; a name that nobody asked for is an
// error of glint itself.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glint::python {

namespace nb = nanobind;

class Fields {
 public:
  explicit Fields(nb::dict values) : values_(std::move(values)) {}
  // None and what is not there leave the value as it is.
  void text(const char* name, std::string& out) const;
  void texts(const char* name, std::vector<std::string>& out) const;
  void pairs(const char* name, std::vector<std::pair<std::string, std::string>>& out) const;
  void flag(const char* name, bool& out) const;
  void count(const char* name, size_t& out) const;
  void count(const char* name, std::optional<size_t>& out) const;
  // A layer, which counts from 1.
  void layer(const char* name, std::optional<size_t>& out) const;
  void counts(const char* name, std::vector<uint64_t>& out) const;
  void real(const char* name, double& out) const;
  void reals(const char* name, std::vector<double>& out) const;
  nb::object object(const char* name) const;  // None when it is not there

 private:
  nb::dict values_;
};

// Text of Python as UTF-8; Error (usage) for what is no text or has a null character.
std::string text_of(nb::handle object, const char* name);

}  // namespace glint::python
