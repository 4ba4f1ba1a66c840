#pragma once
// The device that fibers stand for.

#include "kselect/call.hpp"

namespace kselect::simt {

// A GPU with shared memory as on Hopper and little else. Plans are made for it by the formulas that
// serve every GPU, so fibers run what a GPU runs: the same instances, and shapes that follow from
// the numbers of a device. The device is small, because a thread is dear on fibers, and because
// tests' short rows then already take several tiles, several blocks and more than the device holds.
// Blocks of 96 threads are three warps: code that needs a power of two has 64
// (kernels/device_size.hpp).
inline device test_device(int host_threads) {
  device d;
  d.kind = executor_kind::fiber;
  d.name = "test GPU";
  d.threads = host_threads;
  d.multiprocessors = 4;
  d.resident_threads = 96;
  d.shared_bytes = 227 << 10;
  return d;
}

}  // namespace kselect::simt
