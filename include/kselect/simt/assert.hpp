#pragma once
// KSELECT_ASSERT(condition) for kernel code. On a fiber, a false condition ends the launch with a
// status that names kernel, block, lane, file and line. On a GPU it traps in debug builds and
// compiles to nothing in release builds (NDEBUG).

#include <cassert>
#include <source_location>

namespace kselect::simt::detail {

// Throws in the calling lane's fiber. Throws std::logic_error if no kernel runs.
[[noreturn]] void assertion_failed(const char* condition, std::source_location at);

}  // namespace kselect::simt::detail

#if !defined(__CUDA_ARCH__)
#define KSELECT_ASSERT(condition) \
  (static_cast<bool>(condition)   \
       ? static_cast<void>(0)     \
       : ::kselect::simt::detail::assertion_failed(#condition, std::source_location::current()))
#elif defined(NDEBUG)
#define KSELECT_ASSERT(condition) static_cast<void>(0)
#else
#define KSELECT_ASSERT(condition) assert(condition)
#endif
