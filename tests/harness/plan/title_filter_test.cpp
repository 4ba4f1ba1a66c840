// Globs on titles, and what is left of regular expressions.

#include "harness/plan/title_filter.hpp"

#include <chrono>
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
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(title_filter(filter + "z").matches(long_title));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace kselect::harness
