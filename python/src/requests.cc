#include "requests.h"

#include <cmath>

namespace glint::python {
namespace {

Json whole_number(nb::handle object, const std::string& name) {
  const uint64_t value = PyLong_AsUnsignedLongLong(object.ptr());
  if (!PyErr_Occurred()) return value;
  PyErr_Clear();
  const int64_t negative = PyLong_AsLongLong(object.ptr());
  if (!PyErr_Occurred()) return negative;
  PyErr_Clear();
  refuse(name, "out of range", "a whole number from 0 to 2^64 - 1");
}

}  // namespace

std::string text_of(nb::handle object, const std::string& name) {
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

Json json_of(nb::handle object, const std::string& name) {
  PyObject* const p = object.ptr();
  if (object.is_none()) return nullptr;
  if (PyBool_Check(p)) return p == Py_True;
  if (PyLong_Check(p)) return whole_number(object, name);
  if (PyFloat_Check(p)) {
    const double value = PyFloat_AsDouble(p);
    if (std::isnan(value)) refuse(name, "not a number", "a number");
    return value;
  }
  if (PyUnicode_Check(p)) return text_of(object, name);
  if (nb::hasattr(object, "tolist")) return json_of(object.attr("tolist")(), name);  // of NumPy
  if (nb::hasattr(object, "__fspath__")) return text_of(object.attr("__fspath__")(), name);
  if (PyDict_Check(p) || PyBytes_Check(p) || !PySequence_Check(p))
    refuse(name, std::string("a value that is ") + Py_TYPE(p)->tp_name, "a number, a text, or a list of them");
  Json list = Json::array();
  for (const nb::handle item : nb::borrow<nb::sequence>(object)) list.push_back(json_of(item, name));
  return list;
}

nb::dict dict_of(nb::handle values) {
  if (!nb::isinstance<nb::dict>(values)) refuse("options", "not a dict", "names and values");
  return nb::borrow<nb::dict>(values.attr("copy")());
}

void set_from(std::vector<Field> fields, const nb::dict& values) {
  Json all = Json::object();
  for (const auto& [key, value] : values) {
    const std::string name = text_of(key, "options");
    all[name] = json_of(value, name);
  }
  set_fields(fields, all);
}

void take(nb::dict& values, const char* name, std::string& target) {
  if (!values.contains(name)) return;
  target = text_of(values[name], name);
  nb::del(values[name]);
}

}  // namespace glint::python
