// The search by blocks against an independent brute force, for every query, over random and
// adversarial vectors: in memory, in tiles and as a graph.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "brute_force.hpp"
#include "drivers.hpp"
#include "runtime/error.hpp"

namespace kselect::search {
namespace {

using namespace brute_force;

using generator = std::mt19937;

std::vector<float> normal(generator& bits, std::int64_t count, float spread = 1) {
  std::normal_distribution<float> of(0, spread);
  std::vector<float> data(static_cast<std::size_t>(count));
  std::ranges::generate(data, [&] { return of(bits); });
  return data;
}

// Some vectors of a kind, of a dimension. The longest has a few hundred, so that brute force is
// quick.
struct kind {
  const char* name;
  std::vector<float> (*make)(generator&, std::int64_t count, std::int64_t dimension);
};

const kind kinds[] = {
    {"random", [](generator& g, std::int64_t n, std::int64_t d) { return normal(g, n * d); }},
    {"all_equal",
     [](generator&, std::int64_t n, std::int64_t d) {
       return std::vector<float>(static_cast<std::size_t>(n * d), 0.3F);
     }},
    {"zeros",
     [](generator&, std::int64_t n, std::int64_t d) {
       return std::vector<float>(static_cast<std::size_t>(n * d), 0);
     }},
    // Float32 products leave out nothing within a cluster.
    {"clusters_far_away",
     [](generator& g, std::int64_t n, std::int64_t d) {
       std::vector<float> data = normal(g, n * d, 1e-2F);
       for (std::size_t i = 0; i < data.size(); ++i) {
         data[i] += (static_cast<std::int64_t>(i) / d) % 3 == 0 ? 1e4F : -2e4F;
       }
       return data;
     }},
    {"huge_norms",
     [](generator& g, std::int64_t n, std::int64_t d) {
       std::vector<float> data = normal(g, n * d, 5e37F);
       for (std::size_t i = 0; i < data.size(); i += 7) data[i] = 3e38F;
       return data;
     }},
    {"one_huge_vector",
     [](generator& g, std::int64_t n, std::int64_t d) {
       std::vector<float> data = normal(g, n * d, 1e-30F);
       for (std::int64_t c = 0; c < d; ++c) data[static_cast<std::size_t>(c)] = 1e38F;
       return data;
     }},
    {"denormals",
     [](generator& g, std::int64_t n, std::int64_t d) { return normal(g, n * d, 1e-42F); }},
    // The k-th neighbour has many equals.
    {"duplicates",
     [](generator& g, std::int64_t n, std::int64_t d) {
       std::vector<float> data = normal(g, n * d);
       for (std::int64_t i = 10; i < n; ++i) {
         std::copy_n(data.begin() + i % 10 * d, d, data.begin() + i * d);
       }
       return data;
     }},
    {"some_zeros",
     [](generator& g, std::int64_t n, std::int64_t d) {
       std::vector<float> data = normal(g, n * d);
       for (std::int64_t i = 0; i < n; i += 3) std::fill_n(data.begin() + i * d, d, 0.0F);
       return data;
     }},
    {"bytes",
     [](generator& g, std::int64_t n, std::int64_t d) {
       std::vector<float> data(static_cast<std::size_t>(n * d));
       std::ranges::generate(data, [&] { return static_cast<float>(g() % 256); });
       return data;
     }},
    {"few_bytes",
     [](generator& g, std::int64_t n, std::int64_t d) {
       std::vector<float> data(static_cast<std::size_t>(n * d));
       std::ranges::generate(data, [&] { return static_cast<float>(g() % 3) - 1; });
       return data;
     }},
};

struct shape {
  std::int64_t n, queries, dimension, k;
};

std::string to_text(const shape& s) {
  return fmt::format("n = {}, {} queries, dimension {}, k = {}", s.n, s.queries, s.dimension, s.k);
}

class HostSearch : public testing::TestWithParam<std::tuple<kind, metric>> {};

TEST_P(HostSearch, IsThatOfABruteForce) {
  const auto [of, m] = GetParam();
  // Ties that rounding makes or breaks differ between float64 and long double; integers have none
  // of those.
  const bool exact = (m == metric::sqeuclidean || m == metric::inner_product) &&
                     std::string(of.name).ends_with("bytes");
  for (const shape s :
       {shape{1, 3, 4, 1}, {13, 13, 1, 13}, {40, 1, 3, 39}, {5200, 7, 20, 3}, {4700, 14, 5, 300}}) {
    SCOPED_TRACE(to_text(s));
    generator bits(static_cast<unsigned>(s.n));
    const vector_set base = make_set(s.dimension, of.make(bits, s.n, s.dimension));
    const vector_set query = make_set(s.dimension, of.make(bits, s.queries, s.dimension));
    const question q{.base = base, .query = &query, .m = m};
    const answer one = in_memory(q, s.k, "auto", 1);
    expect_right(q, one, exact ? 0 : 1e-13L);
    const answer two = in_memory(q, s.k, "cpu/heap", 2);
    EXPECT_EQ(one.indices, two.indices);
    EXPECT_EQ(one.distances, two.distances);
    const answer tiles = in_tiles(q, s.k, "auto", 1);
    EXPECT_EQ(one.indices, tiles.indices);
    EXPECT_EQ(one.distances, tiles.distances);
  }
}

TEST_P(HostSearch, IsThatOfABruteForceAsAGraph) {
  const auto [of, m] = GetParam();
  for (const shape s : {shape{2, 2, 3, 1}, {300, 300, 7, 5}}) {
    SCOPED_TRACE(to_text(s));
    generator bits(9);
    const vector_set base = make_set(s.dimension, of.make(bits, s.n, s.dimension));
    for (const bool exclude : {false, true}) {
      const question q{.base = base, .exclude_self = exclude, .m = m};
      const answer found = in_memory(q, s.k, "auto", 2);
      expect_right(q, found, 1e-13L);
      const answer tiles = in_tiles(q, s.k, "auto", 1);
      EXPECT_EQ(found.indices, tiles.indices);
      EXPECT_EQ(found.distances, tiles.distances);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, HostSearch,
                         testing::Combine(testing::ValuesIn(kinds),
                                          testing::Values(metric::sqeuclidean, metric::euclidean,
                                                          metric::cosine, metric::pearson,
                                                          metric::inner_product)),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param).name) + "_" +
                                  std::string(to_string(std::get<1>(of.param)));
                         });

TEST(HostSearchErrors, AComponentThatIsNotFiniteIsNamed) {
  generator bits(1);
  vector_set base = make_set(3, normal(bits, 60)), query = base;
  query.data[17] = std::numeric_limits<float>::infinity();
  for (const metric m : {metric::sqeuclidean, metric::cosine}) {
    try {
      in_memory({.base = base, .query = &query, .m = m}, 2, "auto", 2);
      FAIL();
    } catch (const error& why) {
      EXPECT_EQ(why.category(), failure::input);
      EXPECT_STREQ(why.what(), "test vectors: vector 5 has a component that is not finite");
    }
  }
}

}  // namespace
}  // namespace kselect::search
