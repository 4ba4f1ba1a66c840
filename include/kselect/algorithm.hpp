#pragma once
// The interface of every selection algorithm: plain data, no base class, no registration at start.
//
// A file `algorithms/<stem>.cu` or `baselines/<stem>.{cpp,cu}` defines
//     std::span<const kselect::algorithm> kselect::entries::<stem>();
// and nothing else has to be touched: the build generates the registry from the file list.

#include <cstdint>
#include <string_view>

#include "kselect/call.hpp"
#include "kselect/call_plan.hpp"
#include "kselect/contract.hpp"
#include "kselect/names.hpp"
#include "kselect/problem.hpp"

namespace kselect {

struct algorithm {
  std::string_view name;    // stable, unique: "cpu/nth_element+omp"
  std::string_view family;  // what plots group by: "sort", "heap", "quick multi-select"
  std::string_view source;  // its origin: "Komarov et al. 2014, Methods, Alg. 1"
  contract promises;
  enum_set<executor_kind> executors;
  enum_set<dtype> dtypes = set_of(dtype::float32);
  enum_set<index_type> index_types = set_of(index_type::int32, index_type::int64);
  // An entry with values and indices also gives indices alone: plan_call() then adds scratch memory
  // for the values. One that declares payload::indices writes none.
  enum_set<payload> payloads = set_of(payload::values, payload::values_and_indices);
  enum_set<layout> layouts = set_of(layout::row_major);
  // On a CPU it may use all of device::threads; else it works on the thread that calls it.
  bool threaded = false;
  // Where it takes row-major rows of lengths and starts of their own and a k of each (problem.hpp);
  // it then gives values, indices or both, not the k-th value.
  enum_set<executor_kind> ragged = {};
  // It names elements by problem::map.
  bool maps = false;
  // It selects from elements that problem::mask admits, of rows that it takes as ragged.
  bool masks = false;
  // The places of NaN that it knows, of those beside the total order not for the k-th value alone.
  enum_set<nan_order> nans = set_of(nan_order::total_order);
  // Why this build cannot run it at all: an adapter whose library is missing. Empty if it can.
  std::string_view missing = {};

  // Decides all about a call on a problem that the fields above and the limits admit, with
  // 1 <= k <= n (any k if rows are ragged) and Q >= 1: whether it is possible, its workspace, its
  // launches (call_plan.hpp). Allocates nothing and starts nothing. Null only where `missing` says
  // why.
  call_plan (*plan)(const problem&, const device&) = nullptr;
};

// The entry's plan, after everything that it declares was checked.
call_plan plan_call(const algorithm&, const problem&, const device&);

// The problem with the payload values_and_indices instead of indices, and a plan of indices alone
// by a plan of that problem: its values go to scratch memory.
problem with_values(problem p);
call_plan plan_without_values(const call_plan& pairs);

// Whether there is one, or the reason why not.
support check_support(const algorithm&, const problem&, const device&);

}  // namespace kselect
