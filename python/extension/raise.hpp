#pragma once
// Failures of the library as Python's exceptions, and integers of Python's.

#include "kselect/algorithm.hpp"
#include "python/extension/limited_python.hpp"

namespace kselect::python {

// Sets the exception that Python programs expect of this failure. Returns null.
PyObject* raise(const status& failed);

// False: a Python exception is set, which names the argument.
bool read_integer(PyObject* given, const char* name, long long least, long long most,
                  long long& value);
bool has_arguments(Py_ssize_t count, Py_ssize_t wanted);

}  // namespace kselect::python
