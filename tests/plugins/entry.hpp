#pragma once
// The shape of every entry of a test's plug-in, and a right answer for it.

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "kselect/candidate.hpp"
#include "kselect/plugin.hpp"

namespace kselect {

using outside_candidate = keyed_candidate<float>;

// The k smallest of each row, sorted: every element is read.
inline status solve_rows(const problem& p, const io& b) {
  std::vector<outside_candidate::type> row(static_cast<std::size_t>(p.n));
  for (std::int64_t r = 0; r < p.q; ++r) {
    const auto* const keys = static_cast<const float*>(b.input);
    for (std::int64_t i = 0; i < p.n; ++i) {
      row[static_cast<std::size_t>(i)] =
          outside_candidate::make(selection_key(keys[p.offset(r, i)], p.direction), i);
    }
    std::partial_sort(row.begin(), row.begin() + p.k, row.end());
    const bool kth = p.payload == payload::kth_value;
    for (std::int64_t j = kth ? p.k - 1 : 0; j < p.k; ++j) {
      const auto c = row[static_cast<std::size_t>(j)];
      static_cast<float*>(b.values)[kth ? r : r * p.k + j] =
          from_selection_key<float>(outside_candidate::key(c), p.direction);
      if (b.indices == nullptr) continue;
      static_cast<std::int32_t*>(b.indices)[r * p.k + j] =
          static_cast<std::int32_t>(outside_candidate::index(c));
    }
  }
  return {};
}

// Wrong unless the rows are sorted.
inline status first_k(const problem& p, const io& b, std::span<std::byte>, const executor&) {
  for (std::int64_t r = 0; r < p.q; ++r) {
    for (std::int64_t j = 0; j < p.k; ++j) {
      static_cast<float*>(b.values)[r * p.k + j] =
          static_cast<const float*>(b.input)[p.offset(r, j)];
      if (b.indices == nullptr) continue;
      static_cast<std::int32_t*>(b.indices)[r * p.k + j] = static_cast<std::int32_t>(j);
    }
  }
  return {};
}

// An entry whose calls are `run`.
template <auto run>
algorithm outside(std::string_view name) {
  algorithm a;
  a.name = name;
  a.family = "outside";
  a.source = "tests";
  a.executors = set_of(executor_kind::cpu);
  a.index_types = set_of(index_type::int32);
  a.payloads = set_of(payload::values, payload::values_and_indices, payload::kth_value);
  a.layouts = set_of(layout::row_major, layout::column_major);
  a.promises.synchronises = true;
  a.plan = [](const problem& p, const device&) { return call_plan::of<run>(p); };
  return a;
}

}  // namespace kselect
