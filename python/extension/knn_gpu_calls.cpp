#include "python/extension/knn_gpu_calls.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "kselect/knn.hpp"
#include "python/extension/array.hpp"
#include "python/extension/raise.hpp"
#include "python/extension/where.hpp"

namespace kselect::python {
namespace {

constexpr const char* gpu_capsule_name = "kselect.gpu_corpus";

struct gpu_corpus {
  knn_corpus prepared;
  int gpu = 0;
};

void drop_gpu_corpus(PyObject* capsule) {
  delete static_cast<gpu_corpus*>(PyCapsule_GetPointer(capsule, gpu_capsule_name));
}

// A dense array on a GPU; on `gpu` if that is not negative.
bool read_there(PyObject* given, const char* name, bool writable, int gpu, array& a) {
  if (!a.read(given, name, writable)) return false;
  if (a.on_gpu && a.dense() && (gpu < 0 || a.gpu == gpu)) return true;
  PyErr_Format(PyExc_ValueError, "%s is no dense array on the GPU of the corpus", name);
  return false;
}

bool read_rows(PyObject* given, const char* name, int gpu, array& a, vector_rows& rows) {
  if (!read_there(given, name, false, gpu, a)) return false;
  if (a.type != element::float32 || a.dimensions != 2) {
    PyErr_Format(PyExc_TypeError, "%s is no matrix of float32", name);
    return false;
  }
  rows = {static_cast<const float*>(a.data), a.shape[0], a.shape[1]};
  return true;
}

bool read_metric(PyObject* given, metric& m) {
  long long number = 0;
  if (!read_integer(given, "metric", 0, std::ssize(names_of(metric{})) - 1, number)) return false;
  m = static_cast<metric>(number);
  return true;
}

bool read_product(PyObject* given, knn_rounding& to) {
  long long number = 0;
  const auto last = std::ssize(names_of(knn_rounding{})) - 1;
  if (!read_integer(given, "product", 0, last, number)) return false;
  to = static_cast<knn_rounding>(number);
  return true;
}

std::span<std::byte> bytes_in(const array& a) {
  return {static_cast<std::byte*>(a.data), static_cast<std::size_t>(a.count())};
}

bool read_scratch(PyObject* given, const char* name, int gpu, array& a) {
  if (!read_there(given, name, true, gpu, a)) return false;
  if (a.type == element::uint8) return true;
  PyErr_Format(PyExc_TypeError, "%s is no array of uint8", name);
  return false;
}

// What both functions of a search are given.
struct search_request {
  const gpu_corpus* corpus = nullptr;
  array queries, words;
  vector_rows rows;
  long long k = 0, first_own = 0;
  knn_options options;
};

bool read_words(PyObject* given, search_request& asked) {
  if (given == Py_None) return true;
  if (!read_there(given, "filter", false, asked.corpus->gpu, asked.words)) return false;
  const array& w = asked.words;
  const std::int64_t each = knn_filter::words_for(asked.corpus->prepared.count());
  const bool is_words = w.type == element::uint32 || w.type == element::int32;
  const bool fits = w.dimensions == 1
                        ? w.shape[0] == each
                        : w.dimensions == 2 && w.shape[1] == each && w.shape[0] == asked.rows.count;
  if (!is_words || !fits) {
    PyErr_SetString(PyExc_ValueError, "filter is no dense array of a word for 32 vectors");
    return false;
  }
  asked.options.filter = {static_cast<const std::uint32_t*>(w.data), w.dimensions == 1 ? 0 : each};
  return true;
}

bool read_search(PyObject* corpus, PyObject* queries, PyObject* k, PyObject* first_own,
                 PyObject* filter, search_request& asked) {
  asked.corpus = static_cast<const gpu_corpus*>(PyCapsule_GetPointer(corpus, gpu_capsule_name));
  if (asked.corpus == nullptr ||
      !read_rows(queries, "queries", asked.corpus->gpu, asked.queries, asked.rows) ||
      !read_integer(k, "k", 1, asked.corpus->prepared.count(), asked.k) ||
      !read_integer(first_own, "first_own", -1, INT64_MAX, asked.first_own)) {
    return false;
  }
  if (asked.rows.dimension != asked.corpus->prepared.dimension()) {
    PyErr_SetString(PyExc_ValueError, "queries have another dimension than the corpus");
    return false;
  }
  asked.options.first_own = asked.first_own;
  return read_words(filter, asked);
}

bool read_answer(PyObject* given, const char* name, element type, const search_request& asked,
                 array& out) {
  if (!read_there(given, name, true, asked.corpus->gpu, out)) return false;
  if (out.type == type && out.count() == asked.rows.count * asked.k) return true;
  PyErr_Format(PyExc_TypeError, "%s is not of the answer's size and type", name);
  return false;
}

// `proven`: waits, and does again what is not proven. So does a search without products in float16.
status search(const search_request& asked, const place& at, const array& distances,
              const array& indices, const array& workspace, bool proven) {
  knn_search planned;
  status done = planned.plan(asked.corpus->prepared, asked.rows.count, asked.k, bytes_in(workspace),
                             at, asked.options);
  const auto size = static_cast<std::size_t>(distances.count());
  if (done.ok()) {
    done = planned.enqueue(asked.rows.data, std::span(static_cast<float*>(distances.data), size),
                           std::span(static_cast<std::int64_t*>(indices.data), size));
  }
  return done.ok() && (proven || !planned.by_products()) ? planned.finish() : done;
}

}  // namespace

PyObject* gpu_corpus_bytes(PyObject*, PyObject* const* given, Py_ssize_t count) {
  array vectors;
  vector_rows rows;
  metric m{};
  knn_rounding to{};
  if (!has_arguments(count, 3) || !read_rows(given[0], "corpus", -1, vectors, rows) ||
      !read_metric(given[1], m) || !read_product(given[2], to)) {
    return nullptr;
  }
  const where at(vectors, 0, nullptr);
  if (!at.place().obstacle().empty()) {
    return raise({status_code::unsupported, at.place().obstacle()});
  }
  return PyLong_FromSize_t(knn_corpus::memory(rows, m, at.place(), to));
}

PyObject* prepare_gpu_corpus(PyObject*, PyObject* const* given, Py_ssize_t count) {
  array vectors, memory;
  vector_rows rows;
  metric m{};
  knn_rounding to{};
  long long stream = 0;
  if (!has_arguments(count, 5) || !read_rows(given[0], "corpus", -1, vectors, rows) ||
      !read_metric(given[1], m) || !read_scratch(given[2], "memory", vectors.gpu, memory) ||
      !read_integer(given[3], "stream", 0, INT64_MAX, stream) || !read_product(given[4], to)) {
    return nullptr;
  }
  std::unique_ptr<gpu_corpus> held(new (std::nothrow) gpu_corpus);
  if (held == nullptr) return PyErr_NoMemory();
  held->gpu = vectors.gpu;
  status done;
  Py_BEGIN_ALLOW_THREADS const where at(vectors, 0, reinterpret_cast<void*>(stream));
  done = held->prepared.prepare(rows, m, at.place(), bytes_in(memory), to);
  Py_END_ALLOW_THREADS if (!done.ok()) return raise(done);
  PyObject* const capsule = PyCapsule_New(held.get(), gpu_capsule_name, &drop_gpu_corpus);
  if (capsule != nullptr) static_cast<void>(held.release());
  return capsule;
}

PyObject* gpu_search_bytes(PyObject*, PyObject* const* given, Py_ssize_t count) {
  search_request asked;
  if (!has_arguments(count, 5) ||
      !read_search(given[0], given[1], given[2], given[3], given[4], asked)) {
    return nullptr;
  }
  const where at(asked.queries, 0, nullptr);
  return PyLong_FromSize_t(knn_search::workspace(asked.corpus->prepared, asked.rows.count, asked.k,
                                                 at.place(), asked.options));
}

PyObject* search_gpu_corpus(PyObject*, PyObject* const* given, Py_ssize_t count) {
  search_request asked;
  array distances, indices, workspace;
  long long stream = 0, proven = 0;
  if (!has_arguments(count, 10) ||
      !read_search(given[0], given[1], given[2], given[5], given[6], asked) ||
      !read_answer(given[3], "distances", element::float32, asked, distances) ||
      !read_answer(given[4], "indices", element::int64, asked, indices) ||
      !read_scratch(given[7], "workspace", asked.corpus->gpu, workspace) ||
      !read_integer(given[8], "stream", 0, INT64_MAX, stream) ||
      !read_integer(given[9], "proven", 0, 1, proven)) {
    return nullptr;
  }
  status done;
  Py_BEGIN_ALLOW_THREADS const where at(asked.queries, 0, reinterpret_cast<void*>(stream));
  done = search(asked, at.place(), distances, indices, workspace, proven != 0);
  Py_END_ALLOW_THREADS if (!done.ok()) return raise(done);
  Py_RETURN_NONE;
}

}  // namespace kselect::python
