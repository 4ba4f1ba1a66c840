#pragma once
// NaN after all numbers, whatever its sign bit, in host memory.

#include "kselect/select.hpp"
#include "python/extension/request.hpp"

namespace kselect::python {

// Corrects an answer by the total order. NaN with the sign bit that is worst in the wanted
// direction come last in it already. So only rows of which another NaN was selected are done again,
// on a copy in which all NaN are that one; for a stable answer, rows of which any NaN was.
status put_nan_last(const request& asked, const detail::call_buffers& buffers, const place& where);

}  // namespace kselect::python
