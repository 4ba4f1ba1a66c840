// Membership and order are decided by float64 distances: of neighbours whose float32 distances are
// equal, or underflow, the right ones are found, in the right order, by every driver.

#include <numeric>

#include <gtest/gtest.h>

#include "brute_force.hpp"
#include "drivers.hpp"

namespace kselect::search {
namespace {

using namespace brute_force;

// A permutation of 0 ... count - 1, so that the order of indices is not that of distances.
std::vector<std::int64_t> mixed(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937(5));
  return order;
}

struct trial_data {
  vector_set base, query;
};

// Distances to the query agree in their first 24 bits.
trial_data beyond_24_bits(metric m, std::int64_t count) {
  std::vector<float> data;
  const bool unit = m == metric::cosine || m == metric::pearson;
  for (const std::int64_t i : mixed(count)) {
    const auto a = static_cast<float>(i);
    if (m == metric::inner_product) {  // the distance is -1 + a 2^-36
      data.insert(data.end(), {1, -std::ldexp(a, -36), 0, 0});
      continue;
    }
    if (unit) {  // the distance is 1 - a 2^-36
      data.insert(data.end(), {std::ldexp(a, -36), -std::ldexp(a, -36), 1, -1});
    } else {  // the squared distance is 1 + a^2 2^-46
      data.insert(data.end(), {1, std::ldexp(a, -23), 0, 0});
    }
  }
  if (m == metric::inner_product) return {make_set(4, std::move(data)), make_set(4, {1, 1, 0, 0})};
  return {make_set(4, std::move(data)),
          make_set(4, unit ? std::vector<float>{1, -1, 0, 0} : std::vector<float>{0, 0, 0, 0})};
}

// Components are multiples of the least denormal number. Squared distances underflow in float32.
trial_data denormal(metric m, std::int64_t count) {
  std::vector<float> data;
  const float least = std::numeric_limits<float>::denorm_min();
  for (const std::int64_t i : mixed(count)) {
    const float a = static_cast<float>(i + 1) * least;
    if (m == metric::cosine || m == metric::pearson) {
      // Directions whose angle to the query grows with i.
      data.insert(data.end(), {5000 * least, -5000 * least, a, -a});
    } else {
      data.insert(data.end(), {a, 0, 0, 0});
    }
  }
  const bool unit = m == metric::cosine || m == metric::pearson;
  if (m == metric::inner_product) {
    return {make_set(4, std::move(data)), make_set(4, {least, 0, 0, 0})};
  }
  return {make_set(4, std::move(data)), make_set(4, unit ? std::vector<float>{least, -least, 0, 0}
                                                         : std::vector<float>{0, 0, 0, 0})};
}

class Float64Order : public testing::TestWithParam<metric> {};

TEST_P(Float64Order, DecidesWhereFloat32DistancesAreEqual) {
  const trial_data data = beyond_24_bits(GetParam(), 1600);
  const question q{.base = data.base, .query = &data.query, .m = GetParam()};
  for (const char* algorithm : {"cpu/heap", "auto"}) {
    expect_right(q, in_memory(q, 40, algorithm, 2), 0);
    for (const int ranks : {1, 3}) expect_right(q, in_tiles(q, 40, algorithm, ranks), 0);
  }
}

TEST_P(Float64Order, DecidesWhereSquaresUnderflow) {
  const trial_data data = denormal(GetParam(), 1600);
  const question q{.base = data.base, .query = &data.query, .m = GetParam()};
  expect_right(q, in_memory(q, 40, "cpu/heap", 2), 0);
  for (const int ranks : {1, 3}) expect_right(q, in_tiles(q, 40, "cpu/heap", ranks), 0);
}

TEST_P(Float64Order, DecidesInTheGraph) {
  // The query is a vector of the base: what holds for it holds for a row of the graph.
  for (const auto make : {beyond_24_bits, denormal}) {
    trial_data data = make(GetParam(), 600);
    data.base.data.insert(data.base.data.end(), data.query.data.begin(), data.query.data.end());
    ++data.base.count;
    const question q{.base = data.base, .exclude_self = true, .m = GetParam()};
    const answer memory = in_memory(q, 30, "cpu/heap", 2);
    const answer tiles = in_tiles(q, 30, "cpu/heap", 2);
    EXPECT_EQ(memory.indices, tiles.indices);
    EXPECT_EQ(memory.distances, tiles.distances);
    const ranked all = all_of(q, 600);
    for (std::size_t place = 0; place < 30; ++place) {
      ASSERT_EQ(memory.indices[600 * 30 + place], all[place].second) << place;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Float64Order,
                         testing::Values(metric::sqeuclidean, metric::euclidean, metric::cosine,
                                         metric::pearson, metric::inner_product),
                         [](const auto& of) { return std::string(to_string(of.param)); });

}  // namespace
}  // namespace kselect::search
