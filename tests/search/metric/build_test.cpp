// Builders of indexes against the thesis' definitions, and against each other on every executor.

#include <algorithm>
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"
#include "tests/search/metric/world.hpp"

namespace kselect::search::metric_space {
namespace {

class Building : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Building, testing::Values("euclidean", "levenshtein"));

TEST_P(Building, GivesTheSameIndexOnCudaAndEveryOtherBackend) {
  const world w = world::of(GetParam(), 260, 1);
  const auto cpu = open_backend(executor_kind::cpu, 1);
  std::vector<std::unique_ptr<backend>> others;
  others.push_back(open_backend(executor_kind::cpu, 3));
  others.push_back(open_backend(executor_kind::fiber, 2));
  if (why_unavailable(executor_kind::cuda).empty()) {
    others.push_back(open_backend(executor_kind::cuda));
  }
  for (const std::int64_t size : {1, 16, 64, 259, 400}) {
    const cluster_list list = w.in.build_clusters(*w.objects, size, *cpu);
    for (const auto& place : others) {
      EXPECT_EQ(list, w.in.build_clusters(*w.objects, size, *place))
          << size << ' ' << to_string(place->description().kind);
    }
  }
  for (const float radius : {0.5F * w.middle_radius(), w.middle_radius()}) {
    const cluster_list list = w.in.build_clusters_within(*w.objects, radius, *cpu);
    for (const auto& place : others) {
      EXPECT_EQ(list, w.in.build_clusters_within(*w.objects, radius, *place))
          << radius << ' ' << to_string(place->description().kind);
    }
  }
  for (const auto& [alpha, most] :
       {std::pair<double, std::int64_t>{0.3, 0}, {0.3, 2}, {0.5, 0}, {1.0, 0}}) {
    const pivot_rule rule = {.alpha = alpha, .most = most};
    const pivot_table table = w.in.build_pivots(*w.objects, rule, *cpu);
    for (const auto& place : others) {
      EXPECT_EQ(table, w.in.build_pivots(*w.objects, rule, *place))
          << alpha << ' ' << to_string(place->description().kind);
    }
  }
}

// Checks the clusters against the definition in Barrientos 2011, Alg. 3.
TEST_P(Building, ClustersAreWhatTheAlgorithmSays) {
  const world w = world::of(GetParam(), 150, 1);
  const auto place = open_host_backend(executor_kind::cpu, 1);
  const cluster_list list = w.in.build_clusters(*w.objects, 10, *place);
  const auto n = static_cast<std::size_t>(w.objects->count());
  std::vector<std::vector<float>> d(n, std::vector<float>(n));
  for (std::size_t i = 0; i < n; ++i) {
    w.in.distances(*w.objects, *w.objects, static_cast<std::int64_t>(i), d[i]);
  }
  std::vector<bool> taken(n);
  EXPECT_EQ(list.centres[0], 0);
  for (std::int64_t c = 0; c < list.clusters(); ++c) {
    const auto centre = static_cast<std::size_t>(list.centres[static_cast<std::size_t>(c)]);
    const auto sum = [&](std::size_t i) {
      double total = 0;
      for (std::int64_t b = 0; b < c; ++b) {
        total += static_cast<double>(
            d[static_cast<std::size_t>(list.centres[static_cast<std::size_t>(b)])][i]);
      }
      return total;
    };
    for (std::size_t i = 0; i < n; ++i) {
      if (!taken[i]) {
        EXPECT_LE(sum(i), sum(centre)) << "cluster " << c;
      }
    }
    taken[centre] = true;
    for (const std::int64_t i : list.of(c)) taken[static_cast<std::size_t>(i)] = true;
    const float radius = list.radii[static_cast<std::size_t>(c)];
    for (const std::int64_t i : list.of(c)) {
      EXPECT_LE(d[centre][static_cast<std::size_t>(i)], radius);
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (!taken[i]) {
        EXPECT_GE(d[centre][i], radius);
      }
    }
  }
}

// Checks clusters of a fixed radius against the definition in Barrientos 2011, Sec. 2.1.3.
TEST_P(Building, ClustersOfARadiusHoldAllWithinIt) {
  const world w = world::of(GetParam(), 150, 1);
  const auto place = open_host_backend(executor_kind::cpu, 1);
  const float radius = 0.5F * w.middle_radius();
  const cluster_list list = w.in.build_clusters_within(*w.objects, radius, *place);
  const auto n = static_cast<std::size_t>(w.objects->count());
  EXPECT_GT(list.clusters(), 2);
  EXPECT_EQ(list.centres[0], 0);
  std::vector<double> sums(n);
  std::vector<bool> taken(n);
  for (std::int64_t c = 0; c < list.clusters(); ++c) {
    const auto centre = static_cast<std::size_t>(list.centres[static_cast<std::size_t>(c)]);
    for (std::size_t i = 0; i < n; ++i) {
      if (!taken[i]) {
        EXPECT_LE(sums[i], sums[centre]) << "cluster " << c;
      }
    }
    std::vector<float> d(n);
    w.in.distances(*w.objects, *w.objects, static_cast<std::int64_t>(centre), d);
    std::vector<std::int64_t> inside;
    for (std::size_t i = 0; i < n; ++i) {
      sums[i] += static_cast<double>(d[i]);
      if (!taken[i] && i != centre && d[i] <= radius) {
        inside.push_back(static_cast<std::int64_t>(i));
      }
    }
    const auto members = list.of(c);
    EXPECT_TRUE(std::ranges::is_permutation(members, inside)) << "cluster " << c;
    EXPECT_TRUE(std::ranges::is_sorted(members, std::ranges::less{}, [&](std::int64_t i) {
      return std::pair(d[static_cast<std::size_t>(i)], i);
    }));
    taken[centre] = true;
    for (const std::int64_t i : members) taken[static_cast<std::size_t>(i)] = true;
  }
  EXPECT_TRUE(std::ranges::all_of(taken, std::identity{}));
}

TEST_P(Building, RefusesRadiiThatSpareNothing) {
  const world w = world::of(GetParam(), 60, 1);
  const auto message = [&](float radius, executor_kind where) -> std::string {
    try {
      w.in.build_clusters_within(*w.objects, radius, *open_host_backend(where, 1));
    } catch (const error& e) {
      EXPECT_EQ(e.category(), failure::usage);
      return e.what();
    }
    return "built";
  };
  for (const executor_kind where : {executor_kind::cpu, executor_kind::fiber}) {
    EXPECT_THAT(message(1e6F, where), testing::HasSubstr("one cluster would hold them all"));
    for (const float radius : {0.0F, -1.0F, NAN, INFINITY}) {
      EXPECT_THAT(message(radius, where), testing::HasSubstr("is not a finite distance above 0"));
    }
  }
  const world apart = world::make<euclidean>(euclidean::set(normal_data(40, 3, 1), 40, 3), 1);
  EXPECT_THROW(apart.in.build_clusters_within(*apart.objects, 1e-6F,
                                              *open_host_backend(executor_kind::fiber, 1)),
               error);
}

TEST_P(Building, TakesTheFirstPivots) {
  const world w = world::of(GetParam(), 200, 1);
  const auto place = open_host_backend(executor_kind::cpu, 1);
  const pivot_table all = w.in.build_pivots(*w.objects, {.alpha = 0.4}, *place);
  const pivot_table two = w.in.build_pivots(*w.objects, {.alpha = 0.4, .most = 2}, *place);
  EXPECT_EQ(two.pivots, (std::vector<std::int64_t>{all.pivots[0], all.pivots[1]}));
  EXPECT_TRUE(std::equal(two.distances.begin(), two.distances.end(), all.distances.begin()));
  EXPECT_EQ(two.distances.size(), 400U);
  for (const std::int64_t most : {all.count() + 1, std::int64_t{-1}, std::int64_t{5000}}) {
    EXPECT_THROW(w.in.build_pivots(*w.objects, {.alpha = 0.4, .most = most}, *place), error);
  }
}

// Checks the pivots against Barrientos 2011, Alg. 1.
TEST_P(Building, PivotsAreSparse) {
  const world w = world::of(GetParam(), 200, 1);
  const auto place = open_host_backend(executor_kind::cpu, 1);
  const pivot_table table = w.in.build_pivots(*w.objects, {.alpha = 0.4}, *place);
  EXPECT_GT(table.count(), 1);
  const float least = table.diameter * 0.4F * 0.9999F;
  for (std::int64_t p = 0; p < table.count(); ++p) {
    for (std::int64_t other = 0; other < p; ++other) {
      const auto at =
          static_cast<std::size_t>(p * 200 + table.pivots[static_cast<std::size_t>(other)]);
      EXPECT_GE(table.distances[at], least);
    }
  }
}

}  // namespace
}  // namespace kselect::search::metric_space
