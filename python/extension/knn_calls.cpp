#include "python/extension/knn_calls.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "kselect/knn.hpp"
#include "python/extension/array.hpp"
#include "python/extension/raise.hpp"

namespace kselect::python {
namespace {

constexpr const char* capsule_name = "kselect.corpus";

// A corpus and the memory that it is a view of.
struct held_corpus {
  array vectors;
  knn_corpus prepared;
};

void drop(PyObject* capsule) {
  delete static_cast<held_corpus*>(PyCapsule_GetPointer(capsule, capsule_name));
}

// Dense rows of float32 in host memory.
bool read_vectors(PyObject* given, const char* name, array& vectors, vector_rows& rows) {
  if (PyCapsule_CheckExact(given)) {  // whose memory could be gone before the corpus
    PyErr_Format(PyExc_TypeError, "%s has no buffer", name);
    return false;
  }
  if (!vectors.read(given, name, false)) return false;
  if (vectors.type != element::float32 || vectors.dimensions != 2 || !vectors.dense()) {
    PyErr_Format(PyExc_TypeError, "%s is not a dense matrix of float32", name);
    return false;
  }
  rows = {static_cast<const float*>(vectors.data), vectors.shape[0], vectors.shape[1]};
  return true;
}

bool read_output(PyObject* given, const char* name, element type, std::int64_t count, array& out) {
  if (!out.read(given, name, true)) return false;
  if (out.type == type && !out.on_gpu && out.dense() && out.count() == count) return true;
  PyErr_Format(PyExc_TypeError, "%s is not a dense array of the answer's size and type", name);
  return false;
}

// The bits that a search may return: None, one sequence of words, or one for each of the queries.
bool read_filter(PyObject* given, std::int64_t corpus, std::int64_t queries, array& words,
                 knn_filter& filter) {
  if (given == Py_None) return true;
  if (!words.read(given, "filter", false)) return false;
  const std::int64_t each = knn_filter::words_for(corpus);
  const bool fits = words.type == element::uint32 && !words.on_gpu && words.dense() &&
                    (words.dimensions == 1 ? words.shape[0] == each
                                           : words.dimensions == 2 && words.shape[1] == each &&
                                                 words.shape[0] == queries);
  if (!fits) {
    PyErr_SetString(PyExc_ValueError, "filter is no dense array of a word for 32 vectors");
    return false;
  }
  filter = {static_cast<const std::uint32_t*>(words.data), words.dimensions == 1 ? 0 : each};
  return true;
}

}  // namespace

PyObject* prepare_corpus(PyObject*, PyObject* const* given, Py_ssize_t count) {
  long long metric_number = 0, threads = 0;
  if (!has_arguments(count, 3) ||
      !read_integer(given[1], "metric", 0, std::ssize(names_of(metric{})) - 1, metric_number) ||
      !read_integer(given[2], "threads", 0, INT32_MAX, threads)) {
    return nullptr;
  }
  std::unique_ptr<held_corpus> held(new (std::nothrow) held_corpus);
  if (held == nullptr) return PyErr_NoMemory();
  vector_rows rows;
  if (!read_vectors(given[0], "corpus", held->vectors, rows)) return nullptr;
  status done;
  Py_BEGIN_ALLOW_THREADS done = held->prepared.prepare(rows, static_cast<metric>(metric_number),
                                                       place::cpu(static_cast<int>(threads)));
  Py_END_ALLOW_THREADS if (!done.ok()) return raise(done);
  PyObject* const capsule = PyCapsule_New(held.get(), capsule_name, &drop);
  if (capsule != nullptr) static_cast<void>(held.release());
  return capsule;
}

PyObject* search_corpus(PyObject*, PyObject* const* given, Py_ssize_t count) {
  long long k = 0, first_own = 0;
  if (!has_arguments(count, 7)) return nullptr;
  const auto* corpus =
      static_cast<const held_corpus*>(PyCapsule_GetPointer(given[0], capsule_name));
  array queries, distances, indices, words;
  vector_rows rows;
  knn_filter filter;
  if (corpus == nullptr || !read_vectors(given[1], "queries", queries, rows) ||
      !read_integer(given[2], "k", 1, corpus->prepared.count(), k) ||
      !read_integer(given[5], "first_own", -1, INT64_MAX, first_own) ||
      !read_output(given[3], "distances", element::float32, rows.count * k, distances) ||
      !read_output(given[4], "indices", element::int64, rows.count * k, indices) ||
      !read_filter(given[6], corpus->prepared.count(), rows.count, words, filter)) {
    return nullptr;
  }
  const auto size = static_cast<std::size_t>(rows.count * k);
  status done;
  Py_BEGIN_ALLOW_THREADS done =
      corpus->prepared.search(rows, k, std::span(static_cast<float*>(distances.data), size),
                              std::span(static_cast<std::int64_t*>(indices.data), size),
                              {.first_own = first_own, .filter = filter});
  Py_END_ALLOW_THREADS if (!done.ok()) return raise(done);
  Py_RETURN_NONE;
}

}  // namespace kselect::python
