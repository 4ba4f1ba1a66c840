#pragma once
// The common part of entries that select with vector lanes on the CPU.

#include <limits>

#include "kselect/algorithm.hpp"

namespace kselect::one_pass {

constexpr algorithm entry_on_lanes(std::string_view name, std::string_view family,
                                   std::string_view source) {
  algorithm a;
  a.name = name;
  a.family = family;
  a.source = source;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.determinism = determinism::gpu_to_gpu;                    // ascending by index
  a.promises.limits.max_n = std::numeric_limits<std::int32_t>::max();  // lanes count in 32 bits
  a.promises.synchronises = true;
  a.executors = set_of(executor_kind::cpu);
  a.payloads =
      set_of(payload::values, payload::values_and_indices, payload::kth_value, payload::indices);
  return a;
}

}  // namespace kselect::one_pass
