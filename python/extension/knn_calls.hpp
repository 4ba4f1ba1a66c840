#pragma once
// The extension's functions for k nearest neighbours.

#include "python/extension/limited_python.hpp"

namespace kselect::python {

inline constexpr const char* prepare_corpus_help =
    "prepare_corpus(vectors, metric, threads) -> capsule\n\n"
    "Prepares dense rows of float32, whose memory the capsule holds.";
PyObject* prepare_corpus(PyObject*, PyObject* const* given, Py_ssize_t count);

inline constexpr const char* search_corpus_help =
    "search_corpus(corpus, queries, k, distances, indices, first_own, filter) -> None\n\n"
    "Writes dense float32 distances and int64 indices, k of each a query. filter: None, or words "
    "of\n"
    "uint32, for all queries or for each.";
PyObject* search_corpus(PyObject*, PyObject* const* given, Py_ssize_t count);

}  // namespace kselect::python
