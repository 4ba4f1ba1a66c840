#pragma once
// What a call from Python asks for, as the library's problem.

#include <cstddef>
#include <cstdint>
#include <span>

#include "kselect/select.hpp"
#include "python/extension/array.hpp"
#include "python/extension/ragged_arguments.hpp"

namespace kselect::python {

// The bits of a call's `flags`; python/kselect/_flags.py has the same.
enum flag : unsigned {
  largest = 1,
  sorted = 2,
  stable = 4,
  is_bfloat16 = 8,  // NumPy has no bfloat16: such rows come as uint16
  wide_indices = 16,
  nan_last = 32,          // else NaN are ordered as kselect/order.hpp says
  is_float8_e4m3fn = 64,  // rows of 8-bit floats come as uint8
  is_float8_e5m2 = 128
};
constexpr unsigned most_flags = 255;

struct request {
  kselect::problem problem;
  select_options options;
};

enum class outcome : std::uint8_t {
  made,
  other_layout,  // the library takes neither of the array's layouts: copy it
  failed         // a Python exception is set
};

// `axis` is in 0 .. a.dimensions - 1. `ragged` is null if the rows are as long as the axis.
outcome make_request(const array& a, std::int64_t k, int axis, unsigned flags,
                     const ragged_arguments* ragged, request& made);

}  // namespace kselect::python
