#pragma once
// Starts a kernel where the executor says. The one header that a file with kernels includes:
// compiled by nvcc it knows both executors, compiled by a C++ compiler the fibers alone.

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

// "kselect::my_kernel", as messages call it.
std::string readable_name(const std::type_info& kernel);

// What no executor can launch: failed, with a message that names the number.
status check_grid(const std::string& kernel, const grid& shape, int max_threads);

// The same of what a device has too little of: shared memory for the kernel's storage and what the
// launch asks for beside it.
status check_shared(const std::string& kernel, std::size_t storage, const grid& shape,
                    const device& where);

// True: noted (launch_notes.hpp), and not to be started.
bool note_launch(const std::string& kernel, const grid& shape);

// The status of a launch on an executor that the kernel has no code for in this build.
status not_compiled_for(const std::string& kernel, executor_kind kind);

}  // namespace detail

// For whom an instance of a kernel is compiled.
enum class launched_on : std::uint8_t { both, fiber, cuda };

// A program may launch one kernel from a file compiled by nvcc and from one compiled by the host
// compiler (tests do). The two instances differ, so they must not share a symbol.
#if defined(__CUDACC__)
inline namespace with_cuda {
#else
inline namespace without_cuda {
#endif

// cuda: starts the kernel on the stream and returns; the status is the launch's own. fiber: runs it
// to its end; any error of the kernel is the status. An executor that this build or this function
// does not know is `unsupported`. `on` limits the executors that the kernel is compiled for, where
// planning gives an instance to one of them alone.
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
  if constexpr (on != launched_on::cuda) {
    if (where.device->kind == executor_kind::fiber) {
      return detail::launch_on_fibers(
          {name.c_str(), &detail::run_on_fiber<Kernel>, sizeof(storage)}, shape, &args, where);
    }
  }
#if defined(__CUDACC__)
  if constexpr (on != launched_on::fiber) {
    if (where.device->kind == executor_kind::cuda) {
      return detail::launch_on_cuda<Kernel>(name.c_str(), shape, args, where);
    }
  }
#endif
  return detail::not_compiled_for(name, where.device->kind);
}

}  // namespace with_cuda or without_cuda

}  // namespace kselect::simt
