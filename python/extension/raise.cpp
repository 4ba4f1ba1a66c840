#include "python/extension/raise.hpp"

namespace kselect::python {

PyObject* raise(const status& failed) {
  PyObject* kind = PyExc_RuntimeError;
  if (failed.code == status_code::invalid) kind = PyExc_ValueError;
  if (failed.code == status_code::out_of_memory) kind = PyExc_MemoryError;
  PyErr_SetString(kind, failed.message.c_str());
  return nullptr;
}

bool read_integer(PyObject* given, const char* name, long long least, long long most,
                  long long& value) {
  value = PyLong_AsLongLong(given);
  if (value == -1 && PyErr_Occurred() != nullptr) return false;
  if (value >= least && value <= most) return true;
  PyErr_Format(PyExc_ValueError, "%s = %lld is out of range", name, value);
  return false;
}

bool has_arguments(Py_ssize_t count, Py_ssize_t wanted) {
  if (count == wanted) return true;
  PyErr_Format(PyExc_TypeError, "%zd arguments are needed, not %zd", wanted, count);
  return false;
}

}  // namespace kselect::python
