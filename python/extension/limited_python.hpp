#pragma once
// CPython's stable ABI, as of 3.11, so that one build of the module serves every later Python.

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
