#pragma once
// A part of a GPU's multiprocessors, as a CUDA green context: kernels that are launched in it run
// on these multiprocessors alone. Memory, L2 and the memory's bandwidth stay those of the whole
// GPU.
// On compute capability 9.0 the driver may add two multiprocessors once code with dynamic
// parallelism is loaded; this program has none.
//
// The driver's functions are looked up when they are needed (libcuda.so.1), not linked, so that a
// program with CUDA starts on a machine without a driver.

#include <memory>

namespace kselect::runtime {

class green_context {
 public:
  // Chooses the least part of GPU `number` with at least `wanted` multiprocessors. Drivers hand out
  // groups of a certain size only, so the part may be larger: multiprocessors(). Creates no
  // context. Throws error(failure::usage) if there is no such part, or if CUDA is older than 12.4.
  green_context(int number, int wanted);
  ~green_context();
  green_context(const green_context&) = delete;
  green_context& operator=(const green_context&) = delete;

  int multiprocessors() const;
  int of() const;  // the whole GPU's

  // Makes the context current for the calling thread, whose CUDA calls then belong to it. Creates
  // the context at the first call.
  void enter();
  // Makes the whole GPU `number` current if the calling thread is in a green context.
  static void leave(int number);

 private:
  struct part;
  std::unique_ptr<part> part_;
};

}  // namespace kselect::runtime
