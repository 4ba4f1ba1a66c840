// The host's certificate, tested exhaustively on small worlds (worlds.hpp).

#include "worlds.hpp"

namespace kselect::harness {
namespace {

using namespace testing_worlds;

class certificate_world : public testing::TestWithParam<world> {
 protected:
  exhaustion all_{GetParam(), testing_answers::by_the_host};
};

TEST_P(certificate_world, accepts_exactly_the_right_indices) {
  all_.expect_exactly_the_right_indices();
}

TEST_P(certificate_world, accepts_exactly_the_right_values) {
  all_.expect_exactly_the_right_values();
}

TEST_P(certificate_world, accepts_exactly_the_right_kth_values) {
  all_.expect_exactly_the_right_kth_values();
}

TEST_P(certificate_world, rejects_every_value_that_is_not_at_its_index) {
  all_.expect_no_value_but_that_at_its_index();
}

INSTANTIATE_TEST_SUITE_P(
    small, certificate_world,
    testing::Values(
        world{"unsorted_smallest", 4, all_letters},
        world{"merged_zeros_largest_by_columns", 4, all_letters, output_ordering::unsorted,
              tie_break::unspecified, zero_policy::merged, direction::largest,
              layout::column_major},
        world{"sorted_largest", 3, all_letters, output_ordering::sorted, tie_break::unspecified,
              zero_policy::distinct, direction::largest},
        world{"stable_merged_zeros", 3, all_letters, output_ordering::stable_sorted,
              tie_break::unspecified, zero_policy::merged},
        world{"first_ties_merged_zeros", 3, all_letters, output_ordering::unsorted,
              tie_break::prefer_smaller_index, zero_policy::merged},
        world{"strictest_merged_zeros_largest", 4, zeros_and_one, output_ordering::stable_sorted,
              tie_break::prefer_smaller_index, zero_policy::merged, direction::largest},
        world{"strictest", 4, zeros_and_nan, output_ordering::stable_sorted,
              tie_break::prefer_smaller_index},
        world{"float16_largest", 3, all_letters, output_ordering::sorted, tie_break::unspecified,
              zero_policy::distinct, direction::largest, layout::row_major, dtype::float16},
        world{"bfloat16_first_ties_merged_zeros_by_columns", 3, all_letters,
              output_ordering::stable_sorted, tie_break::prefer_smaller_index, zero_policy::merged,
              direction::smallest, layout::column_major, dtype::bfloat16},
        world{"float8_e5m2_stable_merged_zeros_largest", 3, all_letters,
              output_ordering::stable_sorted, tie_break::unspecified, zero_policy::merged,
              direction::largest, layout::row_major, dtype::float8_e5m2},
        world{"five_long_first_ties", 5, zeros_and_nan, output_ordering::unsorted,
              tie_break::prefer_smaller_index}),
    [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace kselect::harness
