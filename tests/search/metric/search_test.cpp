// Indexes and searches: every answer is compared with all distances, on the host and on the device.

#include <cmath>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"
#include "search/metric/prove.hpp"
#include "tests/search/metric/world.hpp"

namespace kselect::search::metric_space {
namespace {

enum class form : std::uint8_t { fixed_size, fixed_radius };  // of a List of Clusters

struct way {
  const char* metric;
  index_kind index;
  executor_kind executor;
  radius_rule radius = radius_rule::increasing;
  distribution_rule distribution = distribution_rule::elements;
  form clusters = form::fixed_size;
  walk_rule walk = walk_rule::members;

  friend void PrintTo(const way& w, std::ostream* out) {
    *out << w.metric << ", " << to_string(w.index) << ", " << to_string(w.executor) << ", "
         << to_string(w.radius) << ", " << to_string(w.distribution)
         << (w.clusters == form::fixed_radius ? ", fixed radius" : "") << ", by "
         << to_string(w.walk);
  }
};

std::string name_of(const testing::TestParamInfo<way>& info) {
  const way& w = info.param;
  std::string name = std::string(w.metric) + '_' + std::string(to_string(w.index));
  if (w.radius == radius_rule::decreasing) name += "_decreasing";
  if (w.distribution == distribution_rule::pivots) name += "_by_pivot";
  if (w.distribution == distribution_rule::groups) name += "_by_group";
  if (w.clusters == form::fixed_radius) name += "_of_radius";
  if (w.walk == walk_rule::clusters) name += "_by_cluster";
  if (w.walk == walk_rule::groups) name += "_by_group";
  return name + "_on_" + std::string(to_string(w.executor));
}

std::vector<way> all_ways() {
  std::vector<way> ways;
  for (const char* metric : {"euclidean", "levenshtein"}) {
    for (const auto& executor : names<executor_kind>) {
      for (const auto& index : names<index_kind>) {
        ways.push_back({metric, index.value, executor.value});
      }
      way by_radius = {metric, index_kind::list_of_clusters, executor.value};
      by_radius.clusters = form::fixed_radius;
      ways.push_back(by_radius);
      if (executor.value == executor_kind::cpu) continue;
      ways.push_back(
          {metric, index_kind::list_of_clusters, executor.value, radius_rule::decreasing});
      ways.push_back({metric, index_kind::sss, executor.value, radius_rule::increasing,
                      distribution_rule::pivots});
      ways.push_back({metric, index_kind::sss, executor.value, radius_rule::increasing,
                      distribution_rule::groups});
      for (const form clusters : {form::fixed_size, form::fixed_radius}) {
        way by_cluster = {metric, index_kind::list_of_clusters, executor.value};
        by_cluster.clusters = clusters;
        for (const walk_rule walk : {walk_rule::clusters, walk_rule::groups}) {
          by_cluster.walk = walk;
          ways.push_back(by_cluster);
        }
      }
      by_radius.radius = radius_rule::decreasing;
      ways.push_back(by_radius);
    }
  }
  return ways;
}

// The same words by another metric: the kernels differ in their distances alone.
std::vector<way> ways_by_table() {
  std::vector<way> ways;
  for (const auto& executor : names<executor_kind>) {
    for (const auto& index : names<index_kind>) {
      ways.push_back({"levenshtein_table", index.value, executor.value});
    }
    if (executor.value == executor_kind::cpu) continue;
    way by_group = {"levenshtein_table", index_kind::list_of_clusters, executor.value};
    by_group.walk = walk_rule::groups;
    ways.push_back(by_group);
  }
  return ways;
}

class EveryWay : public testing::TestWithParam<way> {
 protected:
  void SetUp() override {
    if (const std::string reason = why_unavailable(GetParam().executor); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    place_ = open_backend(GetParam().executor, 2);
  }
  bool counts() const { return GetParam().executor != executor_kind::cuda; }

  index_data build(const world& w, std::int64_t cluster_size = 8) const {
    if (GetParam().clusters == form::fixed_radius) {
      return w.build_within(w.middle_radius(), *place_);
    }
    return w.build(GetParam().index, *place_, cluster_size);
  }
  std::unique_ptr<searcher> open(const world& w, const index_data& index,
                                 search_options options = {}) {
    options.radius = GetParam().radius;
    options.distribution = GetParam().distribution;
    options.walk = GetParam().walk;
    options.block_threads = 64;
    return w.in.open(*w.objects, index, *place_, options);
  }
  std::unique_ptr<backend> place_;
};
INSTANTIATE_TEST_SUITE_P(All, EveryWay, testing::ValuesIn(all_ways()), name_of);
INSTANTIATE_TEST_SUITE_P(ByTable, EveryWay, testing::ValuesIn(ways_by_table()), name_of);

TEST_P(EveryWay, FindsTheNearest) {
  const world w = world::of(GetParam().metric, 300, 9);
  const index_data index = build(w);
  for (const std::int64_t k : {1, 5, 40, 299, 300}) {
    const radius_plan plan = train_radius(w.in, *w.objects, index, k, 2);
    search_report report;
    const knn_answer answer = open(w, index)->knn(*w.queries, k, plan, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 2), "") << "k = " << k;
    ASSERT_EQ(report.done.has_value(), counts());
    if (counts()) {
      EXPECT_GT(report.done->distances, 0);
    }
  }
}

TEST_P(EveryWay, FindsAllWithinARadius) {
  const world w = world::of(GetParam().metric, 300, 9);
  const index_data index = build(w);
  for (const float radius : {0.0F, 1.0F, 2.5F, 1e9F, INFINITY}) {
    search_report report;
    const range_answer answer = open(w, index)->range(*w.queries, radius, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, radius, answer, 2), "") << radius;
    // Every object is either compared or pruned.
    if (counts()) {
      EXPECT_GE(report.done->distances + report.done->pruned, 9 * 300);
    }
  }
}

// The queries are indexed objects: their own distance is 0, and there are many ties.
TEST_P(EveryWay, FindsTheObjectsThemselves) {
  const world w = world::of(GetParam().metric, 120, 1);
  const index_data index = build(w, 7);
  search_report report;
  const range_answer same = open(w, index)->range(*w.objects, 0, report);
  EXPECT_EQ(disprove(w.in, *w.objects, *w.objects, 0, same, 2), "");
  EXPECT_GE(same.objects.size(), 120U);
}

TEST_P(EveryWay, BatchesAndFewObjectsChangeNothing) {
  for (const std::int64_t count : {1, 2, 8, 9, 10, 33}) {
    const world w = world::of(GetParam().metric, count, 7);
    const index_data index = build(w);
    const std::int64_t k = (count + 1) / 2;
    const radius_plan plan = train_radius(w.in, *w.objects, index, k, 1);
    search_report whole_report, report;
    const knn_answer whole = open(w, index)->knn(*w.queries, k, plan, whole_report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, whole, 1), "") << count << " objects";
    const auto in_batches = open(w, index, {.batch = 3, .hits_room = 1});
    EXPECT_EQ(in_batches->knn(*w.queries, k, plan, report), whole);
    if (GetParam().executor == executor_kind::fiber) {
      EXPECT_EQ(report.batches, 3);
      // How many pivots are tested depends on all queries of a group.
      if (GetParam().distribution != distribution_rule::groups) {
        EXPECT_EQ(report.done, whole_report.done);
      }
    }
    const range_answer range = in_batches->range(*w.queries, 2, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, 2, range, 1), "");
  }
}

// A radius plan that does not fit the data costs extra turns, but the answer stays right.
TEST_P(EveryWay, AnyRadiusPlanGivesTheAnswer) {
  const world w = world::of(GetParam().metric, 100, 5);
  const index_data index = build(w);
  for (const radius_plan plan : {radius_plan{0, 1e-30F}, {1e-3F, 0.3F}, {1e30F, 1}}) {
    search_report report;
    const knn_answer answer = open(w, index)->knn(*w.queries, 10, plan, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 1), "") << plan.first;
  }
}

TEST_P(EveryWay, RefusesWhatIsNoSearch) {
  const world w = world::of(GetParam().metric, 20, 2);
  const index_data index = build(w);
  search_report report;
  const auto search = open(w, index);
  EXPECT_THROW(search->knn(*w.queries, 0, {}, report), error);
  EXPECT_THROW(search->knn(*w.queries, 21, {}, report), error);
  EXPECT_THROW(search->range(*w.queries, -1, report), error);
  EXPECT_THROW(search->range(*w.queries, NAN, report), error);
}

// In few dimensions an index saves most distances (thesis, Sec. 4.2).
TEST(Pruning, SparesDistancesInFewDimensions) {
  const world w = world::of("euclidean", 3000, 20);
  const auto place = open_host_backend(executor_kind::cpu, 1);
  search_report exhaustive, clusters, within, pivots;
  const index_data none = w.build(index_kind::none, *place);
  const index_data list = w.build(index_kind::list_of_clusters, *place, 32);
  const index_data sss = w.build(index_kind::sss, *place);
  const index_data balls = w.build_within(0.4F, *place);
  w.in.open(*w.objects, none, *place, {})->range(*w.queries, 0.1F, exhaustive);
  w.in.open(*w.objects, list, *place, {})->range(*w.queries, 0.1F, clusters);
  w.in.open(*w.objects, sss, *place, {})->range(*w.queries, 0.1F, pivots);
  w.in.open(*w.objects, balls, *place, {})->range(*w.queries, 0.1F, within);
  EXPECT_EQ(exhaustive.done->distances, 20 * 3000);
  EXPECT_LT(within.done->distances, 20 * 3000 / 4);
  EXPECT_LT(clusters.done->distances, 20 * 3000 / 4);
  EXPECT_LT(pivots.done->distances, 20 * 3000 / 4);
}

// Every order of lanes gives the same answer with the same work.
TEST(Schedules, DoNotShow) {
  const world w = world::of("euclidean", 200, 4);
  const auto host = open_host_backend(executor_kind::cpu, 1);
  const auto build = [&](int which, backend& place) {
    if (which == 2) return w.build_within(w.middle_radius(), place);
    return w.build(which == 1 ? index_kind::sss : index_kind::list_of_clusters, place);
  };
  for (const int which : {0, 1, 2, 3}) {
    const walk_rule walk = which == 3 ? walk_rule::groups : walk_rule::members;
    const index_data index = build(which, *host);
    const radius_plan plan = train_radius(w.in, *w.objects, index, 6, 1);
    std::optional<work> first;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const auto place =
          fibers_in_order(seed == 0 ? simt::schedule::reversed : simt::schedule::random, seed);
      EXPECT_EQ(build(which, *place).clusters, index.clusters);
      search_report report;
      const knn_answer answer =
          w.in.open(*w.objects, index, *place, {.walk = walk, .block_threads = 64})
              ->knn(*w.queries, 6, plan, report);
      EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 1), "") << seed;
      if (!first) first = report.done;
      EXPECT_EQ(report.done, first);
    }
  }
}

// Many objects tie with the k-th nearest: lists of found objects are cut, and later ones of equal
// distance and greater number are not added. Every order of lanes keeps the same k.
TEST(Groups, CutListsOfManyTies) {
  std::vector<word> words;
  for (int i = 0; i < 900; ++i) {
    word own = U"aaaa";
    own[static_cast<std::size_t>(i % 4)] = static_cast<char32_t>(U'b' + i % 7);
    words.push_back(own);
  }
  const world w = world::make<levenshtein>(levenshtein::set(words), 5);
  const auto host = open_host_backend(executor_kind::cpu, 1);
  const index_data index = w.build(index_kind::list_of_clusters, *host, 40);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto place = fibers_in_order(simt::schedule::random, seed);
    search_report report;
    const auto search =
        w.in.open(*w.objects, index, *place, {.walk = walk_rule::groups, .block_threads = 96});
    const knn_answer answer = search->knn(*w.queries, 6, {}, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 1), "") << seed;
    EXPECT_GT((*report.counters)[simt::counter::queue_merges], 0);
    EXPECT_EQ(report.pending, 0);
  }
}

// Words of 40 letters, of which some share a bit of the test that spares comparisons: a few roots,
// each changed up to five times, with letters that the objects do not have among the queries'.
levenshtein::set changed_words(int count, std::uint32_t seed, int letters) {
  std::mt19937 random(seed);
  std::vector<word> words;
  for (int i = 0; i < count; ++i) {
    std::mt19937 of_root(static_cast<unsigned>(i % 12));
    word own;
    for (int c = 0; c < 5 + i % 12; ++c)
      own.push_back(static_cast<char32_t>(U'a' + of_root() % 40));
    for (auto changes = random() % 6; changes > 0; --changes) {
      const auto at = random() % own.size();
      const auto letter = static_cast<char32_t>(U'a' + random() % static_cast<unsigned>(letters));
      const auto kind = random() % 3;
      if (kind == 0) own[at] = letter;
      if (kind == 1) own.insert(at, 1, letter);
      if (kind == 2 && own.size() > 1) own.erase(at, 1);
    }
    words.push_back(own);
  }
  return levenshtein::set(words);
}

TEST(Groups, CompareOnlyWordsThatMayBeNear) {
  world w{find_space("levenshtein"),
          std::make_unique<set_holder<levenshtein>>(changed_words(600, 1, 40)),
          std::make_unique<set_holder<levenshtein>>(changed_words(30, 2, 44))};
  w.in.adapt(*w.queries, *w.objects);
  const auto host = open_host_backend(executor_kind::cpu, 1);
  const index_data index = w.build(index_kind::list_of_clusters, *host, 32);
  const auto place = fibers_in_order(simt::schedule::random, 1);
  const auto open = [&](walk_rule walk) {
    return w.in.open(*w.objects, index, *place, {.walk = walk, .block_threads = 128});
  };
  for (int radius = 0; radius < 9; ++radius) {
    search_report report, of_all;
    const auto within = static_cast<float>(radius);
    const range_answer found = open(walk_rule::groups)->range(*w.queries, within, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, within, found, 1), "") << radius;
    open(walk_rule::clusters)->range(*w.queries, within, of_all);
    if (radius > 3) continue;
    EXPECT_LT(report.done->distances, of_all.done->distances / 2) << radius;
  }
  for (const std::int64_t k : {1, 7, 60}) {
    search_report report;
    const knn_answer nearest = open(walk_rule::groups)->knn(*w.queries, k, {}, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, nearest, 1), "") << k;
  }
}

// On a GPU the lanes of a warp part, and a list may run over at any moment. At these sizes some do.
TEST(Groups, OfAGpuFindTheNearest) {
  if (const std::string reason = why_unavailable(executor_kind::cuda); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  constexpr std::int64_t dimension = 20;
  const auto vectors = [](std::int64_t count, std::uint32_t seed) {
    std::vector<float> data = normal_data(count, dimension, seed);
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] *= std::exp(-static_cast<float>(i % dimension) / 5);
    }
    return std::make_unique<set_holder<euclidean>>(euclidean::set(data, count, dimension));
  };
  const world w{find_space("euclidean"), vectors(60'000, 1), vectors(3000, 2)};
  const auto place = open_backend(executor_kind::cuda);
  for (const index_kind kind : {index_kind::list_of_clusters, index_kind::sss}) {
    const index_data index = w.build(kind, *place, 64);
    search_options options;
    if (kind == index_kind::sss) options.distribution = distribution_rule::groups;
    if (kind != index_kind::sss) options.walk = walk_rule::groups;
    const auto search = w.in.open(*w.objects, index, *place, options);
    for (const std::int64_t k : {1, 8, 16, 32}) {
      search_report report;
      const knn_answer answer = search->knn(*w.queries, k, {}, report);
      EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 8), "") << to_string(kind) << k;
    }
  }
}

// What groups cannot do is done by clusters, with the same answer.
TEST(Groups, LeaveALargeKToClusters) {
  const world w = world::of("euclidean", 400, 3);
  const auto place = open_host_backend(executor_kind::fiber, 2);
  const index_data index = w.build(index_kind::list_of_clusters, *place);
  const radius_plan plan = train_radius(w.in, *w.objects, index, 300, 1);
  for (const std::int64_t k : {256, 257, 300}) {
    search_report report;
    const auto search =
        w.in.open(*w.objects, index, *place, {.walk = walk_rule::groups, .block_threads = 64});
    const knn_answer answer = search->knn(*w.queries, k, plan, report);
    EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, answer, 1), "") << k;
  }
}

}  // namespace
}  // namespace kselect::search::metric_space
