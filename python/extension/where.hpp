#pragma once
// The device of a call from Python.

#include "kselect/select.hpp"
#include "python/extension/array.hpp"

namespace kselect::python {

// While it lives, the calling thread's current GPU is that of the array, as place::cuda() demands.
class where {
 public:
  // `threads` is for host memory, `stream` (a cudaStream_t) for a GPU.
  where(const array& a, int threads, void* stream);
  ~where();
  where(const where&) = delete;
  where& operator=(const where&) = delete;

  const kselect::place& place() const { return place_; }

 private:
  int before_;  // the GPU that was current; -1: it still is
  kselect::place place_;
};

}  // namespace kselect::python
