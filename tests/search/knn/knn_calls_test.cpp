// Calls of `kselect knn` as cells of a run: what they say, and how rounds come together. These
// tests need no GPU.

#include "search/task/knn_calls.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/record/journal.hpp"
#include "runtime/error.hpp"
#include "search/knn/median_times.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::json;

cuda_knn_times times(double distance, double selection) {
  return {.norms = 0.25,
          .distance = distance,
          .selection = selection,
          .elapsed = distance + selection + 1,
          .bare_product = 1000};
}

class KnnCalls : public testing::Test {
 protected:
  KnnCalls() {
    base_.count = 500;
    base_.dimension = 16;
    base_.source = "base\xff.npy";  // file names need not be UTF-8
    base_.hash = 0x0123456789abcdef;
    report_.unproven = 3;
    report_.rows_proven = 32;
    report_.product = knn_product::float16;
    report_.survivors = 1234;
    report_.query_tiles = report_.corpus_tiles = 2;
    // As in practice, the first repeat is the slowest.
    report_.times = {times(90, 80), times(2, 30), times(3, 10), times(4, 50)};
    place_.kind = executor_kind::cuda;
    place_.name = "a GPU";
    place_.threads = 4;
  }

  measured_call call() const {
    const registered& entry = *find_algorithm("qms-block");
    const knn_request request{.base = base_,
                              .exclude_self = true,
                              .metric = metric::cosine,
                              .k = 7,
                              .entry = *entry.algorithm,
                              .cuda = {.memory_bytes = 8 << 20, .prove = proof_scope::none}};
    return call_of(knn_run{.request = request,
                           .entry = entry,
                           .report = report_,
                           .place = place_,
                           .started = std::chrono::system_clock::time_point{},
                           .elapsed_s = 1.5,
                           .product_rate = product_rate_});
  }
  std::vector<json> recorded() const {
    std::vector<json> all;
    for (const record_line& line : read_journal(journal_in(folder_)).records) {
      all.push_back(json::parse(line.text));
    }
    return all;
  }

  vector_set base_;
  cuda_knn_report report_;
  device place_;
  double product_rate_ = 0;
  const runtime::input_files::folder at_;  // its own, because tests run side by side
  const std::filesystem::path folder_ = at_ / "run";
};

TEST_F(KnnCalls, RepeatsButTheFirstAreRounds) {
  const measured_call made = call();
  EXPECT_EQ(made.rounds_ns, (std::vector<double>{33e6, 14e6, 55e6}));
  for (const stage_log& stage : made.stages) EXPECT_EQ(stage.rounds_ns.size(), 3U) << stage.name;
  // 0.25 + {2 + 30, 3 + 10, 4 + 50}; gaps and the bare product do not count.
  const median_times medians = medians_of(report_.times);
  EXPECT_EQ(medians.total, 32.25);
  EXPECT_EQ(medians.stages.selection, 30);
  EXPECT_EQ(medians.repeats, 3U);
  report_.times = {times(5, 6)};
  EXPECT_EQ(call().rounds_ns, (std::vector<double>{12e6})) << "an only repeat counts";
}

// 500 x 500 pairs of dimension 16 are 8e6 operations, in 32.25 ms.
TEST_F(KnnCalls, HasTheShareOfTheProductsCeiling) {
  EXPECT_EQ(share_of_products(1e6, 16, 0, 1e9), 0) << "nothing was timed";
  product_rate_ = 1e9;
  const auto counts = call().counts;
  ASSERT_EQ(counts.back().first, "share_of_products");
  EXPECT_NEAR(counts.back().second, 8e6 / 32.25e-3 / 1e9, 1e-12);
}

TEST_F(KnnCalls, TheSameSearchAddsItsRoundsToTheCell) {
  for (int i = 0; i < 2; ++i) call_record(folder_).add(call());
  report_.product = knn_product::tf32;
  call_record(folder_).add(call());
  const auto cells = recorded();
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0]["key"], cells[1]["key"]);
  EXPECT_NE(cells[0]["key"], cells[2]["key"]);
  EXPECT_EQ(cells[0]["time"]["rounds"].size(), 3U);
  EXPECT_EQ(cells[1]["time"]["rounds"], (json{33e6, 14e6, 55e6, 33e6, 14e6, 55e6}));
  EXPECT_EQ(cells[1]["stages"]["selection"]["rounds"].size(), 6U);
  EXPECT_EQ(cells[1]["time"]["median"], 33e6);
  EXPECT_EQ(cells[2]["time"]["rounds"].size(), 3U);
}

TEST_F(KnnCalls, SayWhatWasAskedAndOfWhom) {
  call_record(folder_).add(call());
  report_.product = knn_product::float32;
  call_record(folder_).add(call());
  const auto cells = recorded();
  const json& cell = cells.front();
  EXPECT_EQ(cell["task"], "knn");
  EXPECT_EQ(cell["problem"]["n"], 500);
  EXPECT_EQ(cell["problem"]["k"], 7);
  EXPECT_EQ(cell["problem"]["metric"], "cosine");
  EXPECT_EQ(cell["problem"]["queries"], "graph");
  EXPECT_EQ(cell["input"]["hash"], "0123456789abcdef");
  EXPECT_EQ(cell["algorithm"]["file"], "algorithms/quick_multi_select/quick_multi_select.cu");
  EXPECT_EQ(cell["algorithm"]["settings"]["product"], "float16");
  EXPECT_EQ(cell["algorithm"]["settings"]["device_memory"], 8);
  EXPECT_FALSE(cell["algorithm"]["settings"].contains("prove")) << "all queries are proven";
  EXPECT_EQ(cells.back()["algorithm"]["settings"]["prove"], "none");
  EXPECT_EQ(cell["threads"], 4);
  EXPECT_EQ(cell["verify"]["before"], true);
  EXPECT_EQ(cell["started"], "1970-01-01T00:00:00Z");
}

TEST_F(KnnCalls, AFolderIsHeldByOneRecord) {
  const call_record held(folder_);
  EXPECT_THROW(call_record{folder_}, error);
}

}  // namespace
}  // namespace kselect::search
