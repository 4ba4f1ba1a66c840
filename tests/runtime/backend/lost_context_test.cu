// A kernel's fault on a GPU is noticed, reported with advice, and not taken for a lack of memory.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

__global__ void store(float* at) { *at = 1; }

failure category_of_allocation(backend& place) {
  try {
    static_cast<void>(place.allocate(1 << 20));
  } catch (const error& problem) {
    return problem.category();
  }
  return failure::usage;  // it succeeded
}

// Runs in its own process, whose exit code says which check failed.
[[noreturn]] void lose_context() {
  const auto place = open_backend(executor_kind::cuda, 1);
  const auto stream = static_cast<cudaStream_t>(place->executor().stream);
  if (!place->lost().empty()) std::_Exit(1);
  // A refused launch does not damage the context.
  store<<<1, 4096, 0, stream>>>(nullptr);
  if (cudaGetLastError() == cudaSuccess || !place->lost().empty()) std::_Exit(2);
  store<<<1, 1, 0, stream>>>(reinterpret_cast<float*>(64));
  if (place->synchronise().ok()) std::_Exit(3);
  const std::string fault = place->lost();
  if (fault.empty() || fault != place->lost()) std::_Exit(4);
  if (category_of_allocation(*place) != failure::unsupported) std::_Exit(5);
  std::fputs(fault.c_str(), stderr);
  std::_Exit(0);
}

TEST(LostContext, IsNoticedAndNamed_on_cuda) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // CUDA does not work after a fork
  EXPECT_EXIT(lose_context(), testing::ExitedWithCode(0),
              "cudaErrorIllegalAddress: .*; .*compute-sanitizer");
}

}  // namespace
}  // namespace kselect::runtime
