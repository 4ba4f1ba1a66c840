#pragma once
// The extension's functions for k nearest neighbours on a GPU. All memory is the caller's, as
// DLPack capsules; the caller keeps what a corpus was prepared of for as long as the corpus.

#include "python/extension/limited_python.hpp"

namespace kselect::python {

inline constexpr const char* gpu_corpus_bytes_help =
    "gpu_corpus_bytes(vectors, metric, product) -> int\n\n"
    "Bytes of memory that prepare_gpu_corpus() needs for these dense rows of float32.";
PyObject* gpu_corpus_bytes(PyObject*, PyObject* const* given, Py_ssize_t count);

inline constexpr const char* prepare_gpu_corpus_help =
    "prepare_gpu_corpus(vectors, metric, memory, stream, product) -> capsule\n\n"
    "Enqueues the preparation. The capsule is a view of vectors and memory.";
PyObject* prepare_gpu_corpus(PyObject*, PyObject* const* given, Py_ssize_t count);

inline constexpr const char* gpu_search_bytes_help =
    "gpu_search_bytes(corpus, queries, k, first_own, filter) -> int\n\n"
    "Bytes of workspace that search_gpu_corpus() needs.";
PyObject* gpu_search_bytes(PyObject*, PyObject* const* given, Py_ssize_t count);

inline constexpr const char* search_gpu_corpus_help =
    "search_gpu_corpus(corpus, queries, k, distances, indices, first_own, filter, workspace,\n"
    "                  stream) -> None\n\n"
    "Writes dense float32 distances and int64 indices, k of each a query. Waits for them, because\n"
    "what is not proven is searched again. filter: None, or words of 32 bits.";
PyObject* search_gpu_corpus(PyObject*, PyObject* const* given, Py_ssize_t count);

}  // namespace kselect::python
