// Selection on the CPU from rows in GPU memory: "Data_Copy" plus "CPU_1" or "CPU_p" of Tang et al.
// 2015 (Table I), because a k-NN search computes its distances on the GPU. The rows are copied to
// the host, the heaps of binary_heap.cpp select there, and the answer is copied back. The record
// has the time of Data_Copy alone (inputs.to_host). Subtracting the time of cpu/heap would not give
// it: selections vary by more than the copy takes.
//
// The host's buffers are pageable, as the paper's seem to be (2.3 GB/s). They are kept from call to
// call, so that only the first call touches fresh pages.
//
// Entries: data_copy/heap

#include <array>
#include <vector>

#include "kselect/algorithm.hpp"
#include "kselect/simt/transfer.hpp"

namespace kselect::entries {

std::span<const algorithm> binary_heap();

namespace {

const algorithm& heap_on_host(bool parallel) { return binary_heap()[parallel ? 1 : 0]; }

device host_of(const device& where) {
  device host;
  host.threads = where.threads;
  return host;
}

status copy_and_select(const member_plan& select, const problem& p, const io& buffers,
                       std::span<std::byte>, const executor& on) {
  const device host = host_of(*on.device);
  thread_local std::vector<std::byte> rows, values, indices, scratch;
  rows.resize(p.input_bytes());
  values.resize(p.values_bytes());
  indices.resize(p.indices_bytes());
  scratch.resize(select.workspace());
  status done = simt::copy(on, rows.data(), buffers.input, rows.size());
  if (done.ok()) {
    const io on_host{rows.data(), values.data(), p.has_indices() ? indices.data() : nullptr};
    done = select.enqueue(on_host, scratch, {.device = &host});
  }
  if (done.ok()) done = simt::copy(on, buffers.values, values.data(), values.size());
  if (done.ok()) done = simt::copy(on, buffers.indices, indices.data(), indices.size());
  return done;
}

template <bool parallel>
call_plan plan_for(const problem& p, const device& where) {
  const member_plan select(plan_call(heap_on_host(parallel), p, host_of(where)));
  return select ? call_plan::of<&copy_and_select>(p, 0, select)
                : call_plan::refused(select.reason());
}

template <bool parallel>
algorithm entry(std::string_view name) {
  algorithm a = heap_on_host(parallel);
  a.name = name;
  a.source = "Tang et al. 2015, Table I (Data_Copy and CPU_1, CPU_p)";
  a.promises.synchronises = true;
  a.executors = set_of(executor_kind::fiber, executor_kind::cuda);
  a.ragged = {};  // lengths lie in GPU memory, too, and are not copied
  a.plan = &plan_for<parallel>;
  return a;
}

}  // namespace

std::span<const algorithm> copied_to_host() {
  static const std::array variants = {entry<false>("data_copy/heap"),
                                      entry<true>("data_copy/heap+omp")};
  return variants;
}

}  // namespace kselect::entries
