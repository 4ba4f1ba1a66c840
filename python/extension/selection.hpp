#pragma once
// One selection that Python asked for: what it is about, and how it runs.

#include <cstddef>
#include <span>

#include "kselect/select.hpp"
#include "python/extension/array.hpp"
#include "python/extension/ragged_arguments.hpp"
#include "python/extension/request.hpp"

namespace kselect::python {

struct question {
  array rows;
  ragged_arguments ragged;
  request asked;
  unsigned flags = 0;
};

// Memory for the answer, and scratch memory.
struct answer_memory {
  void* values = nullptr;  // null: indices alone are wanted
  void* indices = nullptr;
  std::span<std::byte> workspace;
  bool has_workspace = false;  // if not, a call in host memory allocates its own
};

// The plan of the selection at `at`, or why there is none.
select_plan plan_of(const question& q, const place& at);

// No algorithm takes columns of this type: the rows must be copied.
bool takes_no_columns(const select_plan& plan, const question& q);

// Selects. On a GPU it enqueues the work.
status run(const select_plan& plan, const question& q, const answer_memory& out, const place& at);

}  // namespace kselect::python
