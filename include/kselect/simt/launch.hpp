#pragma once
// Starts a kernel on an executor. The only header that a file with kernels needs. nvcc compiles it
// for both executors, a C++ compiler for fibers alone.

#include <string>
#include <type_traits>
#include <typeinfo>

#include "kselect/algorithm.hpp"
#include "kselect/simt/assert.hpp"
#include "kselect/simt/fiber.hpp"
#include "kselect/simt/types.hpp"
#if defined(__CUDACC__)
#include "kselect/simt/cuda.cuh"
#endif

namespace kselect::simt {

namespace detail {

// The kernel's name for messages: "kselect::my_kernel".
std::string readable_name(const std::type_info& kernel);

// `failed` if no executor can launch the grid; the message names the wrong number.
status check_grid(const std::string& kernel, const grid& shape, int max_threads);

// The same for shared memory: the kernel's storage plus the dynamic part must fit on the device.
status check_shared(const std::string& kernel, std::size_t storage, const grid& shape,
                    const device& where);

// True if a launch_notes noted the launch, which must then not start.
bool note_launch(const std::string& kernel, const grid& shape);

// The status if this build has no code of the kernel for an executor.
status not_compiled_for(const std::string& kernel, executor_kind kind);

}  // namespace detail

// The executors that a kernel instance is compiled for.
enum class launched_on : std::uint8_t { both, cuda };

// A program may launch one kernel from a file compiled by nvcc and from one compiled by the host
// compiler (tests do). The two instances differ, so they must not share a symbol.
#if defined(__CUDACC__)
inline namespace with_cuda {
#else
inline namespace without_cuda {
#endif

// cuda: enqueues the kernel on the stream and returns the launch's status. fiber: runs it to its
// end and returns the kernel's errors too. `unsupported` if the instance was not compiled for the
// executor. `on` restricts compilation to GPUs, for instances that fibers cannot run.
template <class Kernel, launched_on on = launched_on::both>
status launch(const executor& where, const grid& shape,
              [[maybe_unused]] const typename Kernel::args& args) {
  detail::require_kernel<Kernel>();
  static const std::string name = detail::readable_name(typeid(Kernel));
  constexpr int max_threads = detail::max_threads<Kernel>();
  if (status checked = detail::check_grid(name, shape, max_threads); !checked.ok()) return checked;
  using storage = typename Kernel::storage;
  constexpr std::size_t own = std::is_empty_v<storage> ? 0 : sizeof(storage);
  if (status checked = detail::check_shared(name, own, shape, *where.device); !checked.ok()) {
    return checked;
  }
  if (detail::note_launch(name, shape)) return {};
  if constexpr (on == launched_on::both) {
    if (where.device->kind == executor_kind::fiber) {
      return detail::launch_on_fibers(
          {name.c_str(), &detail::run_on_fiber<Kernel>, sizeof(storage)}, shape, &args, where);
    }
  }
#if defined(__CUDACC__)
  if (where.device->kind == executor_kind::cuda) {
    return detail::launch_on_cuda<Kernel>(name.c_str(), shape, args, where);
  }
#endif
  return detail::not_compiled_for(name, where.device->kind);
}

}  // namespace with_cuda or without_cuda

}  // namespace kselect::simt
