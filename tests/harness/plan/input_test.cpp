// Rows of distances between generated vectors: equal in both layouts, and repeatable.

#include "harness/plan/input.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/error.hpp"
#include "tests/harness/config/minimal_config.hpp"
#include "tests/problems.hpp"

namespace kselect::harness {
namespace {

sweep_config vectors_under(const char* metric) {
  const std::string vectors =
      std::string(R"({"vectors": {"dimension": 128, "metric": ")") + metric + "\"}}";
  return testing_config::config_with({{"/input/generator", vectors.c_str()}});
}

std::vector<float> distances(const char* metric, workload p) {
  const sweep_config config = vectors_under(metric);
  std::vector<float> rows(static_cast<std::size_t>(p.input_elements()), -1);
  open_input(choose_input(config, {}, 2, executor_kind::cpu))
      ->fill(p, std::as_writable_bytes(std::span(rows)));
  return rows;
}

workload sized(std::int64_t n, std::int64_t q) {
  workload p = posed(n, q, 1);
  p.seed = 5;
  return p;
}

// Two uniform components have a mean squared difference of 1/6, so d of them have about d/6.
TEST(GeneratedVectors, LieAsFarApartAsUniformOnes) {
  double sum = 0;
  const std::vector<float> rows = distances("sqeuclidean", sized(300, 300));
  for (const float distance : rows) {
    EXPECT_GT(distance, 5);
    EXPECT_LT(distance, 45);
    sum += static_cast<double>(distance);
  }
  EXPECT_NEAR(sum / static_cast<double>(rows.size()), 128.0 / 6, 0.5);
}

TEST(GeneratedVectors, GiveTheSameRowsInBothLayouts) {
  const workload rows = sized(70, 300);  // more rows than one step of the transposition takes
  workload columns = rows;
  columns.layout = layout::column_major;
  columns.pitch = 303;
  const std::vector<float> by_row = distances("euclidean", rows);
  const std::vector<float> by_column = distances("euclidean", columns);
  for (std::int64_t r = 0; r < rows.q; ++r) {
    for (std::int64_t c = 0; c < rows.n; ++c) {
      ASSERT_EQ(by_row[static_cast<std::size_t>(rows.offset(r, c))],
                by_column[static_cast<std::size_t>(columns.offset(r, c))]);
    }
  }
}

TEST(GeneratedVectors, TellWhatTheirDistancesTook) {
  const sweep_config config = testing_config::config_with(
      {{"/input/generator", R"({"vectors": {"dimension": 8, "metric": "cosine"}})"}});
  const auto input = open_input(choose_input(config, {}, 2, executor_kind::cpu));
  const workload p = sized(50, 40);
  std::vector<float> rows(static_cast<std::size_t>(p.input_elements()));
  const auto stage = input->fill(p, std::as_writable_bytes(std::span(rows)));
  ASSERT_TRUE(stage);
  EXPECT_EQ(stage->executor, executor_kind::cpu);
  EXPECT_STREQ(stage->clock, "steady");
  EXPECT_GT(stage->nanoseconds, 0);
  EXPECT_FALSE(input->fill(sized(0, 3), {}));
  EXPECT_FALSE(input->makes_rows_at(*open_backend(executor_kind::cpu, 1)));
  EXPECT_THROW(input->fill_at(*open_backend(executor_kind::cpu, 1), p, nullptr, 0), error);
}

// Expects equal rows on the host and in the place: `bits`, unless empty, and close to the CPU's.
// Both arguments are dense rows.
void expect_the_same_in_both_places(const input_source& input, const workload& p, backend& place,
                                    std::vector<float>& bits, const std::vector<float>& on_cpu) {
  std::vector<float> host(static_cast<std::size_t>(p.input_elements())), there = host;
  ASSERT_TRUE(input.fill(p, std::as_writable_bytes(std::span(host)), 0));
  const device_buffer rows(place, p.input_bytes());
  const auto stage = input.fill_at(place, p, rows.data(), 0);
  ASSERT_TRUE(stage);
  EXPECT_STREQ(stage->clock, "cuda_event");
  EXPECT_GT(stage->nanoseconds, 0);
  place.to_host(std::as_writable_bytes(std::span(there)), rows.data());
  std::vector<float> dense;
  for (std::int64_t r = 0; r < p.q; ++r) {
    for (std::int64_t c = 0; c < p.n; ++c) {
      const auto at = static_cast<std::size_t>(p.offset(r, c));
      ASSERT_EQ(host[at], there[at]) << to_string(p) << " at " << r << ", " << c;
      ASSERT_NEAR(host[at], on_cpu[dense.size()], 2e-3) << to_string(p);
      dense.push_back(host[at]);
    }
  }
  if (bits.empty()) bits = dense;
  ASSERT_TRUE(bits == dense) << to_string(p);
}

// In a sweep that uses a GPU, the GPU makes the rows of all cells, also of those on the host.
TEST(GeneratedVectorsOnCuda, AreTheSameRowsInEveryPlaceAndLayout) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto place = open_backend(executor_kind::cuda, 2);
  for (const char* const metric : {"sqeuclidean", "euclidean", "cosine", "pearson"}) {
    const sweep_config config = vectors_under(metric);
    const auto input = open_input(choose_input(config, {}, 2, executor_kind::cuda));
    ASSERT_TRUE(input->makes_rows_at(*place));
    EXPECT_EQ(input->description().at("distances").at("executor"), "cuda");
    for (const std::int64_t n : {301, 304}) {
      const std::vector<float> on_cpu = distances(metric, sized(n, 300));
      std::vector<float> bits;
      for (const auto& order : names<layout>) {
        for (const std::int64_t pitch : {std::int64_t{0}, n + 3}) {
          workload p = sized(n, 300);
          p.layout = order.value;
          p.pitch = pitch;
          expect_the_same_in_both_places(*input, p, *place, bits, on_cpu);
        }
      }
    }
  }
}

// A small corpus is the beginning of a larger one, so that sweeps over n and Q are comparable.
TEST(GeneratedVectors, AreTheBeginningOfALargerSet) {
  const workload small = sized(20, 10), large = sized(50, 30);
  const std::vector<float> few = distances("cosine", small), many = distances("cosine", large);
  for (std::int64_t r = 0; r < small.q; ++r) {
    for (std::int64_t c = 0; c < small.n; ++c) {
      ASSERT_EQ(few[static_cast<std::size_t>(small.offset(r, c))],
                many[static_cast<std::size_t>(large.offset(r, c))]);
    }
  }
}

}  // namespace
}  // namespace kselect::harness
