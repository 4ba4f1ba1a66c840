// The rows of a round: new ones for each round if they can be made in time.

#include "harness/run/row_variants.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/error.hpp"
#include "tests/harness/run/fibers_in_place.hpp"
#include "tests/problems.hpp"

namespace kselect::harness {
namespace {

// Makes rows that begin with the number of their variant, and records who made which.
class numbered_source final : public input_source {
 public:
  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override { return {}; }
  std::optional<distance_stage> fill(const workload& p, std::span<std::byte> rows,
                                     int variant) const override {
    if (is_full) throw error(failure::resources, "full");
    std::ranges::fill(rows.first(p.input_bytes()), std::byte{0});
    return write(rows.data(), variant);
  }
  bool makes_rows_at(const backend& place) const override { return place.proves_in_place(); }
  std::optional<distance_stage> fill_at(backend& place, const workload& p, std::byte* rows,
                                        int variant) const override {
    EXPECT_TRUE(place.proves_in_place());
    std::memset(rows, 0, p.input_bytes());
    return write(rows, variant);
  }

  bool of_distances = false, is_full = false;
  mutable std::vector<int> made;

 private:
  std::optional<distance_stage> write(std::byte* rows, int variant) const {
    const auto number = static_cast<float>(variant);
    std::memcpy(rows, &number, sizeof number);
    made.push_back(variant);
    if (!of_distances) return std::nullopt;
    return distance_stage{executor_kind::cpu, "steady", 100.0 + static_cast<double>(made.size())};
  }
};

float variant_of(const input_rows& rows) {
  float number = -1;
  std::memcpy(&number, rows.device(), sizeof number);
  return number;
}

workload sized(std::int64_t n) { return posed(n, 1, 1); }

constexpr std::int64_t many = (std::int64_t{1} << 24) + 4;

TEST(RowVariants, SmallOnesAreFreshInEveryRoundAndAtAnotherAddress) {
  const numbered_source source;
  const auto place = open_backend(executor_kind::cpu, 1);
  row_variants rows(source, *place);
  rows.require(sized(100));
  EXPECT_GE(rows.copies(), 3);
  EXPECT_TRUE(rows.fresh());
  for (int round = 0; round < 7; ++round) {
    EXPECT_EQ(variant_of(rows.of_round(round)), static_cast<float>(round));
  }
  EXPECT_NE(rows.of_round(0).device(), rows.of_round(1).device());
  EXPECT_FALSE(rows.distances() || rows.to_host());
}

TEST(RowVariants, LargeOnesOfTheHostAreMadeOnce) {
  const numbered_source source;
  const auto place = open_backend(executor_kind::cpu, 1);
  row_variants rows(source, *place);
  rows.require(sized(many));
  EXPECT_EQ(rows.copies(), 1);
  EXPECT_FALSE(rows.fresh());
  EXPECT_EQ(variant_of(rows.of_round(5)), 0.0F);
  EXPECT_EQ(source.made, std::vector<int>{0});
}

TEST(RowVariants, LargeOnesAreFreshWhereThePlaceMakesThem) {
  const numbered_source source;
  fibers_in_place place;
  int copies = 0;
  place.arriving = [&](std::span<std::byte> copy) { copies += copy.size() > 8 ? 1 : 0; };
  row_variants rows(source, place);
  rows.require(sized(many));
  EXPECT_EQ(rows.copies(), 1);
  EXPECT_TRUE(rows.fresh());
  for (const int round : {0, 1, 2}) {
    EXPECT_EQ(variant_of(rows.of_round(round)), static_cast<float>(round));
  }
  EXPECT_EQ(source.made, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(copies, 0);
}

TEST(RowVariants, ThatDoNotFitAreRefusedEveryTime) {
  numbered_source source;
  source.is_full = true;
  const auto place = open_backend(executor_kind::cpu, 1);
  row_variants rows(source, *place);
  EXPECT_THROW(rows.require(sized(100)), error);
  EXPECT_THROW(rows.require(sized(100)), error) << "the same rows";
  source.is_full = false;
  rows.require(sized(100));
  EXPECT_EQ(variant_of(rows.first()), 0.0F);
}

TEST(RowVariants, DistancesAreTimedOnTheSameRowsButForTheFirstTime) {
  numbered_source source;
  source.of_distances = true;
  const auto place = open_backend(executor_kind::cpu, 1);
  row_variants rows(source, *place);
  rows.require(sized(100));
  const auto copies = static_cast<std::size_t>(rows.copies());
  ASSERT_TRUE(rows.distances());
  ASSERT_EQ(rows.distances()->samples_ns.size(), 5U);
  EXPECT_EQ(rows.distances()->samples_ns.front(), 100.0 + static_cast<double>(copies) + 1);
  EXPECT_EQ(source.made.size(), copies + 5);
  EXPECT_EQ(source.made.back(), 0);
  EXPECT_FALSE(rows.to_host()) << "the host has made them";
  rows.require(sized(100));
  EXPECT_EQ(source.made.size(), copies + 5) << "the same rows";
  rows.forget();
  EXPECT_FALSE(rows.distances());
}

TEST(RowVariants, ACopyToTheHostIsTimedWhereDistancesAreMadeElsewhere) {
  numbered_source source;
  source.of_distances = true;
  fibers_in_place place;
  row_variants rows(source, place);
  rows.require(sized(1000));
  ASSERT_TRUE(rows.to_host());
  EXPECT_EQ(rows.to_host()->samples_ns.size(), 5U);
  for (const double ns : rows.to_host()->samples_ns) EXPECT_GT(ns, 0);
}

}  // namespace
}  // namespace kselect::harness
