// select() without values: the answer is the indices alone.

#include <gmock/gmock.h>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/select.hpp"

namespace kselect {
namespace {

// By an entry that writes no values, and by one that gets scratch memory for them.
TEST(select, gives_indices_alone_without_values) {
  std::vector<float> data;  // the numbers from 0 to 99 in another order in each row
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 100; ++c) data.push_back(static_cast<float>((c * 7 + r) % 100));
  }
  const row_matrix<float> rows{.data = data.data(), .q = 3, .n = 100};
  const auto here = place::cpu(1);
  for (const requirements& wanted :
       {requirements{}, requirements{.ordering = output_ordering::stable_sorted}}) {
    const select_options options{.require = wanted};
    std::vector<std::int64_t> indices(3 * 4);
    std::vector<std::byte> memory(
        select_indices_workspace<float, std::int64_t>(rows, 4, here, options));
    const status done = select<float, std::int64_t>(rows, 4, {}, indices, memory, here, options);
    ASSERT_TRUE(done.ok()) << done.message;
    std::vector<std::int64_t> found(3 * 4);
    ASSERT_TRUE(select(rows, 4, {}, found, here, options).ok());
    EXPECT_EQ(found, indices);
    const select_plan plan = plan_select_indices<std::int64_t>(rows, 4, here, options);
    std::vector<std::byte> own(plan.workspace());
    std::vector<std::int64_t> planned(3 * 4);
    const status by_plan = select(plan, rows, {}, planned, own);
    ASSERT_TRUE(by_plan.ok()) << by_plan.message;
    EXPECT_EQ(planned, indices);
    for (std::size_t r = 0; r < 3; ++r) {
      std::vector<float> named;
      for (std::size_t j = 0; j < 4; ++j) {
        named.push_back(data[r * 100 + static_cast<std::size_t>(indices[4 * r + j])]);
      }
      EXPECT_THAT(named, testing::UnorderedElementsAre(0, 1, 2, 3));
    }
  }
}

}  // namespace
}  // namespace kselect
