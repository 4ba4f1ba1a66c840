// Lists that stay in a GPU's memory while a corpus is searched tile by tile.

#include <gtest/gtest.h>

#include "running_lists_questions.hpp"
#include "search/knn/tiled/running_lists.hpp"
#include "search/search.hpp"

namespace kselect::search {
namespace {

TEST(RunningListsOnCuda, AreThoseThatTheHostMerges) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto place = open_backend(executor_kind::cuda);
  testing_lists::expect_lists_on(*place);
  running_lists lists(*place, true);
  testing_lists::expect_lists_of(*place, lists, {3000, 100, {150, 400, 90, 700}, false});
}

}  // namespace
}  // namespace kselect::search
