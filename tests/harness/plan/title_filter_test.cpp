// Globs on titles, and what is left of regular expressions.

#include "harness/plan/title_filter.hpp"

#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

constexpr const char* title = "cpu/heap+omp float32/smallest/Q=8/n=256/k=16/few_distinct(4)#1";

bool matches(const char* filter) { return title_filter(filter).matches(title); }

TEST(TitleFilter, MatchesSomewhereUnlessAnchored) {
  for (const char* const filter :
       {"heap", "heap*k=16", "cpu/h??p", "^cpu", "#1$", "", "*", "cpu/heap.*k=16",
        "few_distinct(4)", "(", R"(^cpu/heap\+omp )"}) {
    EXPECT_TRUE(matches(filter)) << filter;
  }
  for (const char* const filter : {"heaps", "k=16*heap", "^heap", "k=16$", "cpu?heap?float"}) {
    EXPECT_FALSE(matches(filter)) << filter;
  }
}

TEST(TitleFilter, MatchesTheTitlesOfPlansAndOfProgress) {
  workload w;
  w.n = 256, w.q = 8, w.k = 16, w.type = dtype::float16, w.direction = direction::largest;
  w.distribution = {distribution_kind::few_distinct, 4}, w.seed = 1;
  const auto names = [&](const char* filter) {
    return title_filter(filter).matches("cpu/heap", w);
  };
  EXPECT_TRUE(names("cpu/heap n=256 Q=8 k=16 float16 few_distinct(4) largest"));
  EXPECT_TRUE(names("^cpu/heap float16/largest/Q=8/n=256/k=16/"));
  EXPECT_TRUE(names("heap*Q=8*k=16"));
  EXPECT_FALSE(names("n=256 Q=8 k=1 "));
}

TEST(TitleFilter, RefusesWhatOnlyRegularExpressionsKnow) {
  for (const std::string filter : {"a|b", "[ab]", "a^b", "a$b", "a\\"}) {
    EXPECT_THROW(title_filter{filter}, runtime::error) << filter;
  }
  EXPECT_THROW(title_filter(std::string(100'000, 'a')), runtime::error);
}

TEST(TitleFilter, TakesNoTimeWhateverItIs) {
  std::string filter;
  for (int i = 0; i < 300; ++i) filter += "*a";
  const std::string long_title(20'000, 'a');
  const std::clock_t start = std::clock();  // of this process: another one may have the processor
  EXPECT_FALSE(title_filter(filter + "z").matches(long_title));
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace kselect::harness
