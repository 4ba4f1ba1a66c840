// Rows with values that an algorithm's contract excludes are refused before the algorithm runs.

#include "harness/select/select_rows.hpp"

#include <array>
#include <gmock/gmock.h>
#include <limits>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

class SelectRows : public testing::Test {
 protected:
  // The message of selecting the best of {1, 2, x} and {3, 4, 5}; empty if it succeeded.
  std::string said_of(float x) {
    const std::array<float, 6> rows = {1, 2, x, 3, 4, 5};
    problem p;
    p.n = 3;
    p.q = 2;
    p.k = 1;
    try {
      select_rows(entry_, p, std::as_bytes(std::span(rows)), *place_);
    } catch (const error& problem) {
      return problem.what();
    }
    return {};
  }

  algorithm entry_ = *match_algorithms("cpu/sort").front()->algorithm;
  std::unique_ptr<backend> place_ = open_backend(executor_kind::cpu, 1);
};

TEST_F(SelectRows, AreTakenWhereTheContractExcludesNothing) {
  EXPECT_EQ(said_of(infinity), "");
  EXPECT_EQ(said_of(std::numeric_limits<float>::quiet_NaN()), "");
}

TEST_F(SelectRows, WithInfinitiesAreRefusedWhereTheContractExcludesThem) {
  entry_.promises.infinities = false;
  EXPECT_THAT(said_of(-infinity), testing::StartsWith("row 0, column 2 is infinite, which the "
                                                      "contract of cpu/sort excludes"));
  EXPECT_EQ(said_of(std::numeric_limits<float>::max()), "");
  EXPECT_EQ(said_of(std::numeric_limits<float>::quiet_NaN()), "");
}

TEST_F(SelectRows, WithNaNAreRefusedWhereTheContractExcludesThem) {
  entry_.promises.nan = nan_policy::unsupported;
  EXPECT_THAT(said_of(std::numeric_limits<float>::quiet_NaN()),
              testing::StartsWith("row 0, column 2 is NaN"));
  EXPECT_EQ(said_of(infinity), "");
}

}  // namespace
}  // namespace kselect::harness
