// The members of a record that describe the proof of its answers.

#include "harness/record/records.hpp"

#include <gtest/gtest.h>

#include "kselect/registry.hpp"

namespace kselect::harness {
namespace {

TEST(CellRecord, SaysWhereAnswersWereProven) {
  cell c;
  c.problem.n = c.problem.q = c.problem.k = 1;
  c.entry = find_algorithm("cpu/sort");
  const auto method = [&](std::int64_t proven, std::int64_t in_place) {
    cell_outcome outcome;
    outcome.answers_proven = proven;
    outcome.proven_in_place = in_place;
    return nlohmann::json::parse(cell_record(c, outcome, {}))["verify"]["method"];
  };
  EXPECT_EQ(method(3, 3), "certificate on the device");
  EXPECT_EQ(method(3, 2), "certificate") << "not all of them";
  EXPECT_EQ(method(3, 0), "certificate");
  EXPECT_EQ(method(0, 0), "certificate") << "none at all";
}

TEST(CellRecord, SaysToWhatItWasConfined) {
  cell c;
  c.problem.n = c.problem.q = c.problem.k = 1;
  c.entry = find_algorithm("cpu/sort");
  const auto record = [&](const cell_context& context) {
    return nlohmann::json::parse(cell_record(c, {}, context));
  };
  EXPECT_FALSE(record({}).contains("multiprocessors"));
  const auto confined = record({.input = {}, .threads = 1, .confined = confinement{16, 132}});
  EXPECT_EQ(confined["multiprocessors"], (nlohmann::json{{"used", 16}, {"of", 132}}));
}

}  // namespace
}  // namespace kselect::harness
