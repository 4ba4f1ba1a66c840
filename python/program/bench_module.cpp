// The extension module kselect._bench: entries that are functions of Python's, and sweeps of them
// in this process (python/kselect/bench.py).

#include <array>
#include <string>
#include <string_view>

#include "python/extension/limited_python.hpp"
#include "python/extension/raise.hpp"
#include "python/program/outside.hpp"

namespace kselect::python {
namespace {

// The functions of the entries, by their numbers. Each is kept.
std::array<PyObject*, outside::most_entries> functions{};

// "ValueError: the text", in one line, of the exception that is set; clears it.
std::string take_exception() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  std::string text = "an exception";
  PyObject* const said = value == nullptr ? nullptr : PyObject_Repr(value);
  if (said != nullptr) {
    Py_ssize_t size = 0;
    const char* const words = PyUnicode_AsUTF8AndSize(said, &size);
    if (words != nullptr) text.assign(words, static_cast<std::size_t>(size));
  }
  PyErr_Clear();
  Py_XDECREF(said);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

PyObject* arguments_of(const problem& p, const io& b, const executor& on) {
  const auto address = [](const void* at) { return reinterpret_cast<unsigned long long>(at); };
  return Py_BuildValue(
      "(KKKLLLLiiiiK)", address(b.input), address(b.values), address(b.indices),
      static_cast<long long>(p.q), static_cast<long long>(p.n), static_cast<long long>(p.k),
      static_cast<long long>(p.effective_pitch()), static_cast<int>(p.type),
      static_cast<int>(p.index), static_cast<int>(p.direction),
      static_cast<int>(on.device->kind == executor_kind::cuda), address(on.stream));
}

// Calls the function of an entry. The sweep runs without the interpreter's lock.
std::string call(int number, const problem& p, const io& buffers, const executor& on) {
  const PyGILState_STATE state = PyGILState_Ensure();
  std::string wrong;
  PyObject* const arguments = arguments_of(p, buffers, on);
  PyObject* const result =
      arguments == nullptr
          ? nullptr
          : PyObject_Call(functions[static_cast<std::size_t>(number)], arguments, nullptr);
  if (result == nullptr) wrong = take_exception();
  Py_XDECREF(arguments);
  Py_XDECREF(result);
  PyGILState_Release(state);
  return wrong;
}

bool read_text(PyObject* given, const char* name, std::string& text) {
  Py_ssize_t size = 0;
  const char* const words =
      PyUnicode_Check(given) != 0 ? PyUnicode_AsUTF8AndSize(given, &size) : nullptr;
  if (words != nullptr) {
    text.assign(words, static_cast<std::size_t>(size));
    return true;
  }
  if (PyErr_Occurred() == nullptr) PyErr_Format(PyExc_TypeError, "%s is no string", name);
  return false;
}

PyObject* pair_of(const outside::outcome& done) {
  return Py_BuildValue("(is#)", done.code, done.text.data(),
                       static_cast<Py_ssize_t>(done.text.size()));
}

PyObject* put_entry(PyObject*, PyObject* const* given, Py_ssize_t count) {
  std::string facts;
  if (!has_arguments(count, 2) || !read_text(given[0], "facts", facts)) return nullptr;
  if (PyCallable_Check(given[1]) == 0) {
    PyErr_SetString(PyExc_TypeError, "the function cannot be called");
    return nullptr;
  }
  const outside::outcome done = outside::put_entry(facts, &call);
  if (done.code == 0) {
    PyObject*& kept = functions[std::stoul(done.text)];
    Py_XDECREF(kept);
    kept = Py_NewRef(given[1]);
  }
  return pair_of(done);
}

PyObject* run_sweep(PyObject*, PyObject* const* given, Py_ssize_t count) {
  outside::sweep wanted;
  if (!has_arguments(count, 5) || !read_text(given[0], "config", wanted.config) ||
      !read_text(given[1], "directory", wanted.directory) ||
      !read_text(given[2], "executor", wanted.executor) ||
      !read_text(given[3], "filter", wanted.filter)) {
    return nullptr;
  }
  wanted.resume = PyObject_IsTrue(given[4]) == 1;
  outside::outcome done;
  Py_BEGIN_ALLOW_THREADS done = outside::run_sweep(wanted);
  Py_END_ALLOW_THREADS return pair_of(done);
}

PyObject* test_entry(PyObject*, PyObject* const* given, Py_ssize_t count) {
  std::string name, executor, cases;
  if (!has_arguments(count, 3) || !read_text(given[0], "name", name) ||
      !read_text(given[1], "executor", executor) || !read_text(given[2], "cases", cases)) {
    return nullptr;
  }
  outside::outcome done;
  Py_BEGIN_ALLOW_THREADS done = outside::test_entry(name, executor, cases);
  Py_END_ALLOW_THREADS return pair_of(done);
}

// The bytes of an object, for as long as this lives.
class bytes_of {
 public:
  bytes_of() = default;
  bytes_of(const bytes_of&) = delete;
  bytes_of& operator=(const bytes_of&) = delete;
  ~bytes_of() {
    if (held_) PyBuffer_Release(&buffer_);
  }
  // False: a Python exception is set.
  bool read(PyObject* source) {
    held_ = PyObject_GetBuffer(source, &buffer_, PyBUF_SIMPLE) == 0;
    return held_;
  }
  std::string_view text() const {
    return {static_cast<const char*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
  bool held_ = false;
};

PyObject* refute(PyObject*, PyObject* const* given, Py_ssize_t count) {
  std::string facts;
  bytes_of rows, values, indices;
  if (!has_arguments(count, 4) || !read_text(given[0], "facts", facts) || !rows.read(given[1]) ||
      !values.read(given[2]) || !indices.read(given[3])) {
    return nullptr;
  }
  outside::outcome done;
  Py_BEGIN_ALLOW_THREADS done =
      outside::refute(facts, {rows.text(), values.text(), indices.text()});
  Py_END_ALLOW_THREADS return pair_of(done);
}

template <PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyMethodDef method(const char* name, const char* help) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL, help};
}

}  // namespace
}  // namespace kselect::python

PyMODINIT_FUNC PyInit__bench() {
  using namespace kselect::python;
  static PyMethodDef methods[] = {
      method<put_entry>("put_entry",
                        "put_entry(facts, function) -> (code, text)\n\nAdds or replaces an entry."),
      method<run_sweep>("run_sweep",
                        "run_sweep(config, directory, executor, filter, resume) -> (code, text)\n\n"
                        "Runs a sweep in this process."),
      method<test_entry>("test_entry",
                         "test_entry(name, executor, cases) -> (code, text)\n\n"
                         "Runs the battery on an entry; the text is JSON."),
      method<refute>("refute",
                     "refute(facts, rows, values, indices) -> (code, text)\n\n"
                     "Says what is wrong with an answer, given as bytes; \"\" if it is proven."),
      {nullptr, nullptr, 0, nullptr}};
  static PyModuleDef_Slot slots[] = {{0, nullptr}};
  static PyModuleDef definition = {};
  definition.m_name = "kselect._bench";
  definition.m_doc = "Entries that are functions of Python's, in the harness.";
  definition.m_methods = methods;
  definition.m_slots = slots;
  return PyModuleDef_Init(&definition);
}
