#include "fields.h"

#include <cmath>

#include "errors.h"

namespace glint::python {
namespace {

uint64_t count_of(nb::handle object, const char* name,
                  const char* expected = "a whole number from 0 to 2^64 - 1") {
  if (!PyLong_Check(object.ptr()) || PyBool_Check(object.ptr())) refuse(name, "not a whole number", expected);
  const uint64_t value = PyLong_AsUnsignedLongLong(object.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    refuse(name, "out of range", expected);
  }
  return value;
}

double real_of(nb::handle object, const char* name) {
  if (PyBool_Check(object.ptr()) || (!PyFloat_Check(object.ptr()) && !PyLong_Check(object.ptr())))
    refuse(name, "not a number", "a number");
  const double value = PyFloat_AsDouble(object.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    refuse(name, "out of range", "a number");
  }
  if (std::isnan(value)) refuse(name, "not a number", "a number");
  return value;
}

template <class Each>
void each_of(nb::handle list, const char* name, const Each& each) {
  if (!PyList_Check(list.ptr()) && !PyTuple_Check(list.ptr())) refuse(name, "not a list", "a list");
  for (const nb::handle item : nb::borrow<nb::sequence>(list)) each(item);
}

}  // namespace

std::string text_of(nb::handle object, const char* name) {
  if (!PyUnicode_Check(object.ptr())) refuse(name, "not a text", "text");
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (!data) {
    PyErr_Clear();
    refuse(name, "text that is no Unicode", "text");
  }
  std::string text(data, static_cast<size_t>(size));
  if (text.find('\0') != text.npos) refuse(name, "text with a null character", "text");
  return text;
}

nb::object Fields::object(const char* name) const {
  return values_.contains(name) ? nb::object(values_[name]) : nb::none();
}

void Fields::text(const char* name, std::string& out) const {
  if (const nb::object value = object(name); !value.is_none()) out = text_of(value, name);
}

void Fields::texts(const char* name, std::vector<std::string>& out) const {
  const nb::object value = object(name);
  if (value.is_none()) return;
  out.clear();
  each_of(value, name, [&](nb::handle item) { out.push_back(text_of(item, name)); });
}

void Fields::pairs(const char* name, std::vector<std::pair<std::string, std::string>>& out) const {
  const nb::object value = object(name);
  if (value.is_none()) return;
  out.clear();
  each_of(value, name, [&](nb::handle item) {
    if (!PyTuple_Check(item.ptr()) || PyTuple_Size(item.ptr()) != 2)
      refuse(name, "not a pair", "(name, text)");
    const nb::tuple pair = nb::borrow<nb::tuple>(item);
    out.emplace_back(text_of(pair[0], name), text_of(pair[1], name));
  });
}

void Fields::flag(const char* name, bool& out) const {
  const nb::object value = object(name);
  if (value.is_none()) return;
  if (!PyBool_Check(value.ptr())) refuse(name, "neither True nor False", "True or False");
  out = value.ptr() == Py_True;
}

void Fields::count(const char* name, size_t& out) const {
  if (const nb::object value = object(name); !value.is_none()) out = count_of(value, name);
}

void Fields::count(const char* name, std::optional<size_t>& out) const {
  if (const nb::object value = object(name); !value.is_none()) out = count_of(value, name);
}

void Fields::layer(const char* name, std::optional<size_t>& out) const {
  if (const nb::object value = object(name); !value.is_none())
    out = count_of(value, name, "the number of a layer, from 1 on");
}

void Fields::counts(const char* name, std::vector<uint64_t>& out) const {
  const nb::object value = object(name);
  if (value.is_none()) return;
  out.clear();
  each_of(value, name, [&](nb::handle item) { out.push_back(count_of(item, name)); });
}

void Fields::real(const char* name, double& out) const {
  if (const nb::object value = object(name); !value.is_none()) out = real_of(value, name);
}

void Fields::reals(const char* name, std::vector<double>& out) const {
  const nb::object value = object(name);
  if (value.is_none()) return;
  out.clear();
  each_of(value, name, [&](nb::handle item) { out.push_back(real_of(item, name)); });
}

}  // namespace glint::python
