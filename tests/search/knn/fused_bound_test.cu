// The error bound on a GPU, whose sums of products are cut and not rounded.

#include "runtime/error.hpp"
#include "tests/search/knn/fused_bound.hpp"

namespace kselect::search::fused {
namespace {

TEST(fused_bound_cuda, holds_on_a_gpu) {
  if (const std::string why = runtime::why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  expect_bounds(*runtime::open_backend(executor_kind::cuda));
}

}  // namespace
}  // namespace kselect::search::fused
