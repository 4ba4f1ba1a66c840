#include "harness/counters/work_counters.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "kselect/simt/counters.hpp"
#include "runtime/error.hpp"
#include "tests/harness/scratch_directory.hpp"

namespace kselect::harness {
namespace {

using testing::Contains;
using testing::Ge;
using testing::Key;
using testing::Pair;

constexpr char config_text[] = R"({
  "schema": "kselect-config/1", "name": "tiny",
  "axes": {"n": [100], "q": [3], "k": [5]},
  "algorithms": ["*"], "executor": "fiber"})";

work_record count_tiny() {
  const sweep_config config = parse_config(config_text, "tiny.json");
  return count_work(config, *open_input(choose_input(config, std::nullopt, 1)));
}

// Every element is read at least once and every output written; counting twice gives equal numbers.
TEST(WorkCounters, CountEveryKernelAlikeEveryTime) {
  const work_record counted = count_tiny();
  ASSERT_FALSE(counted.empty());
  for (const auto& [key, values] : counted) {
    SCOPED_TRACE(key.first + " " + key.second);
    EXPECT_THAT(values, Contains(Pair("global_reads", Ge(300))));
    EXPECT_THAT(values, Contains(Pair("global_writes", Ge(30))));
    EXPECT_THAT(values, Contains(Key("threads")));
  }
  EXPECT_EQ(counted, count_tiny());
}

TEST(WorkCounters, FileKeepsEverything) {
  const scratch_directory scratch;
  const auto file = scratch / "counters.json";
  const work_record counted = {{{"a", "n=1"}, {{"passes", 2}, {"global_reads", 1LL << 40}}},
                               {{"b/c", "n=\"1\""}, {}}};
  write_work(counted, file);
  EXPECT_EQ(read_work(file), counted);
  std::ofstream(file) << R"({"schema":"kselect-counters/2","cells":[]})";
  EXPECT_THROW(read_work(file), error);
  std::filesystem::remove(file);
  EXPECT_THROW(read_work(file), error);
}

TEST(WorkCounters, CheckNamesWhatChangedAndByHowMuch) {
  const work_record recorded = {{{"a", "p"}, {{"passes", 2}, {"global_reads", 1000}}},
                                {{"b", "p"}, {{"atomics", 5}}},
                                {{"c", "p"}, {{"atomics", 5}}}};
  EXPECT_TRUE(check_work(recorded, recorded).passed());
  work_record now = recorded;
  now[{"d", "p"}] = {{"atomics", 1}};
  EXPECT_TRUE(check_work(recorded, now).passed()) << "a kernel not recorded yet";
  EXPECT_EQ(check_work(recorded, now).added.size(), 1U);
  now[{"a", "p"}] = {{"passes", 2}, {"global_reads", 1025}, {"block_syncs", 3}};
  now[{"b", "p"}] = {};
  now.erase({"c", "p"});
  const work_check check = check_work(recorded, now);
  EXPECT_FALSE(check.passed());
  ASSERT_EQ(check.more.size(), 2U);
  EXPECT_EQ(to_string(check.more[0]), "a p: block_syncs: recorded 0, now 3: +3");
  EXPECT_EQ(to_string(check.more[1]), "a p: global_reads: recorded 1000, now 1025: +25 (+2.5 %)");
  ASSERT_EQ(check.less.size(), 1U);
  EXPECT_EQ(to_string(check.less[0]), "b p: atomics: recorded 5, now 0: -5 (-100.0 %)");
  ASSERT_EQ(check.gone.size(), 1U);
  EXPECT_EQ(check.gone[0].first, "c");
}

}  // namespace
}  // namespace kselect::harness
