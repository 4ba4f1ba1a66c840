#pragma once
// The sorting libraries, and the calls of them. gpu_full_sort.cu explains them.

#include "kselect/algorithm.hpp"

namespace kselect::gpu_full_sort {

enum class library : std::uint8_t { thrust, clustered, segmented_radix, segmented };

template <library by>
std::size_t workspace(const problem& p, const device& where);

template <library by>
status enqueue(const problem& p, const io& buffers, std::span<std::byte> memory,
               const executor& on);

}  // namespace kselect::gpu_full_sort
