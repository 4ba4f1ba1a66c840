// Counts and times as messages have them.

#include "runtime/format.hpp"

#include <cstddef>

#include <gtest/gtest.h>

namespace {

using kselect::runtime::amount_of;
using kselect::runtime::format_time;

TEST(format, one_is_singular_and_every_other_number_is_plural) {
  EXPECT_EQ(amount_of(0, "cell"), "0 cells");
  EXPECT_EQ(amount_of(1, "cell"), "1 cell");
  EXPECT_EQ(amount_of(std::size_t{2}, "cell"), "2 cells");
  EXPECT_EQ(amount_of(-1, "cell"), "-1 cells");
}

TEST(format, plurals_follow_the_noun) {
  EXPECT_EQ(amount_of(1, "query"), "1 query");
  EXPECT_EQ(amount_of(2, "query"), "2 queries");
  EXPECT_EQ(amount_of(2, "entry"), "2 entries");
  EXPECT_EQ(amount_of(2, "key"), "2 keys");
  EXPECT_EQ(amount_of(2, "pass"), "2 passes");
  EXPECT_EQ(amount_of(2, "case"), "2 cases");
}

TEST(format, times_have_three_digits_and_the_largest_unit_of_which_there_is_one) {
  EXPECT_EQ(format_time(999), "999 ns");
  EXPECT_EQ(format_time(1000), "1.00 us");
  EXPECT_EQ(format_time(12'345'678), "12.3 ms");
  EXPECT_EQ(format_time(2'500'000'000), "2.50 s");
  EXPECT_EQ(format_time(1'230'000, 40'000), "1.23±0.04 ms");
}

}  // namespace
