#pragma once
// The sorting libraries, and the calls of them. gpu_full_sort.cu explains them.

#include "kselect/algorithm.hpp"

namespace kselect::gpu_full_sort {

enum class library : std::uint8_t { thrust, clustered, segmented_radix, segmented };

template <library by>
call_plan plan_for(const problem& p, const device& where);

}  // namespace kselect::gpu_full_sort
