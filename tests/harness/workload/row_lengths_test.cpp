// Lengths of generated ragged rows: their names, their sizes, and that a seed makes them.

#include "harness/workload/row_lengths.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <memory>

#include <gtest/gtest.h>

#include "tests/problems.hpp"

namespace kselect::harness {
namespace {

TEST(RowLengths, ReadWhatTheyPrint) {
  for (const char* text : {"equal", "uniform", "zipf(1.5)", "two_sizes(0.25)"}) {
    const auto parsed = parse_row_lengths(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
  EXPECT_EQ(to_string(*parse_row_lengths("zipf")), "zipf(1)");
  for (const char* text : {"", "zip", "uniform(1)", "zipf()", "zipf(9)", "zipf(1", "two_sizes(2)",
                           "two_sizes(-1)", "zipf(nan)"}) {
    EXPECT_FALSE(parse_row_lengths(text)) << text;
  }
}

TEST(RowLengths, OfAFileAreItsFirstNumbers) {
  length_file file{.written = "${HERE}/L.npy", .path = "/data/L.npy", .hash = "0123456789abcdef"};
  file.numbers = {5, 0, 7};
  row_lengths l{.kind = length_kind::file, .from = std::make_shared<const length_file>(file)};
  EXPECT_EQ(to_string(l), "file(L.npy, 0123456789abcdef)");
  EXPECT_FALSE(parse_row_lengths(to_string(l)));
  EXPECT_THAT(make_lengths(l, 100, 2, 7), testing::ElementsAre(5, 0));
  row_lengths same = l;
  same.from = std::make_shared<const length_file>(file);
  EXPECT_EQ(same, l);
  file.hash = "1123456789abcdef";
  same.from = std::make_shared<const length_file>(file);
  EXPECT_NE(same, l);
  EXPECT_NE(row_lengths{}, l);
}

TEST(RowLengths, LieWithinTheRowsAndReachTheLongest) {
  for (const char* text : {"equal", "uniform", "zipf", "two_sizes(0.1)"}) {
    const auto kind = *parse_row_lengths(text);
    const auto lengths = make_lengths(kind, 5000, 400, 7);
    ASSERT_EQ(lengths.size(), 400U);
    EXPECT_EQ(lengths, make_lengths(kind, 5000, 400, 7));
    EXPECT_THAT(lengths, testing::Each(testing::AllOf(testing::Ge(0), testing::Le(5000))));
    EXPECT_THAT(lengths, testing::Contains(5000));
  }
  const auto two = make_lengths(*parse_row_lengths("two_sizes(0.1)"), 5000, 400, 7);
  EXPECT_THAT(two, testing::Each(testing::AnyOf(5, 5000)));
  EXPECT_THAT(std::ranges::count(two, 5000), testing::AllOf(testing::Gt(15), testing::Lt(90)));
  const auto few = make_lengths(*parse_row_lengths("zipf"), 5000, 400, 7);
  EXPECT_GT(std::ranges::count_if(few, [](int length) { return length < 100; }), 200);
}

TEST(RowLengths, MakeAWorkloadRagged) {
  workload w = posed(1000, 10, 3);
  EXPECT_EQ(least_input_of(w).elements, 10'000);
  w.give_lengths(*parse_row_lengths("uniform"));
  EXPECT_TRUE(w.ragged());
  EXPECT_LT(least_input_of(w).elements, 10'000);
  EXPECT_THAT(to_string(w), testing::HasSubstr("/lengths:int32"));
  EXPECT_THAT(to_string(w), testing::EndsWith("/uniform"));
  w.give_lengths({});
  EXPECT_EQ(w, posed(1000, 10, 3));
}

}  // namespace
}  // namespace kselect::harness
