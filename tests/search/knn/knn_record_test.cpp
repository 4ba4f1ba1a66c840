// The record of a k-NN run: request, work done and times. These tests need no GPU.

#include "search/knn/knn_record.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kselect::search {
namespace {

using json = nlohmann::json;

cuda_knn_times times(double distance, double selection) {
  return {.norms = 0.25,
          .distance = distance,
          .selection = selection,
          .elapsed = 500,
          .bare_product = 1000};
}

class KnnRecord : public testing::Test {
 protected:
  KnnRecord() {
    base_.count = 500;
    base_.dimension = 16;
    base_.source = "base\xff.npy";  // file names need not be UTF-8
    base_.hash = 0x0123456789abcdef;
    query_ = base_;
    query_.count = 20;
    query_.source = "query.npy";
    report_.unproven = 3;
    report_.rows_proven = 32;
    report_.product = knn_product::float16;
    report_.survivors = 1234;
    report_.by_float64 = 1;
    report_.query_tiles = report_.corpus_tiles = 2;
    // As in practice, the first repeat is the slowest.
    report_.times = {times(90, 80), times(2, 30), times(3, 10), times(4, 50)};
  }

  json record(const vector_set* query = nullptr) const {
    const registered& entry = *find_algorithm("qms-block");
    const knn_request request{.base = base_,
                              .query = query,
                              .exclude_self = query == nullptr,
                              .metric = metric::cosine,
                              .k = 7,
                              .entry = *entry.algorithm,
                              .cuda = {.memory_bytes = 1 << 20,
                                       .half_product = true,
                                       .prove = proof_scope::none,
                                       .repeats = static_cast<int>(report_.times.size())}};
    const std::string text = knn_record({.request = request,
                                         .entry = entry,
                                         .report = report_,
                                         .threads = 4,
                                         .started = std::chrono::system_clock::time_point{},
                                         .elapsed_s = 1.5,
                                         .ceilings = ceilings_,
                                         .product_rate = product_rate_});
    EXPECT_EQ(text.back(), '\n');
    return json::parse(text);
  }

  vector_set base_, query_;
  cuda_knn_report report_;
  memory_ceilings ceilings_;
  double product_rate_ = 0;
};

TEST_F(KnnRecord, HoldsEveryRepeatAndTheMediansOfAllButTheFirst) {
  const json time = record()["time"];
  EXPECT_EQ(time["unit"], "ns");
  EXPECT_EQ(time["left_out"], 1);
  EXPECT_EQ(time["samples"]["distance"], (json{90e6, 2e6, 3e6, 4e6}));
  EXPECT_EQ(time["samples"]["selection"], (json{80e6, 30e6, 10e6, 50e6}));
  EXPECT_EQ(time["median"]["distance"], 3e6);
  EXPECT_EQ(time["median"]["selection"], 30e6);
  // 0.25 + {2 + 30, 3 + 10, 4 + 50}; gaps and the bare product do not count.
  EXPECT_EQ(time["samples"]["total"], (json{170.25e6, 32.25e6, 13.25e6, 54.25e6}));
  EXPECT_EQ(time["median"]["total"], 32.25e6);
  EXPECT_EQ(time["median"]["elapsed"], 500e6);
  EXPECT_EQ(time["median"]["bare_product"], 1000e6);
  for (const cuda_knn_stage& stage : cuda_knn_stages) {
    EXPECT_EQ(time["samples"][std::string(stage.name)].size(), 4U) << stage.name;
    EXPECT_TRUE(time["median"].contains(stage.name)) << stage.name;
  }
}

// 500 x 500 pairs of dimension 16 are 8e6 operations, in 32.25 ms.
TEST_F(KnnRecord, HasTheShareOfTheProductsCeiling) {
  product_rate_ = 1e9;
  const json product = record()["product"];
  EXPECT_EQ(product["ceiling"]["flop_per_s"], 1e9);
  EXPECT_NE(product["ceiling"]["how"].get<std::string>().find("8192"), std::string::npos);
  EXPECT_NEAR(product["share_of_ceiling"].get<double>(), 8e6 / 32.25e-3 / 1e9, 1e-12);
  EXPECT_EQ(share_of_products(1e6, 16, 0, 1e9), 0) << "nothing was timed";
  report_.product = knn_product::float32;
  report_.other_because = "the corpus is small";
  EXPECT_EQ(record()["product"]["other_because"], "the corpus is small");
  EXPECT_EQ(record()["options"]["prove"], "none");
}

TEST_F(KnnRecord, AnOnlyRepeatIsItsOwnMedian) {
  report_.times = {times(5, 6)};
  const json time = record()["time"];
  EXPECT_EQ(time["left_out"], 0);
  EXPECT_EQ(time["median"]["total"], 11.25e6);
  report_.times.clear();
  EXPECT_TRUE(record()["time"].is_null());
}

TEST_F(KnnRecord, SaysWhatWasAskedAndOfWhom) {
  const json graph = record();
  EXPECT_EQ(graph["schema"], 1);
  EXPECT_EQ(graph["what"], "knn");
  EXPECT_EQ(graph["executor"], "cuda");
  EXPECT_EQ(graph["product"], (json{{"type", "float16"},
                                    {"other_because", ""},
                                    {"survivors", 1234},
                                    {"done_again", 3},
                                    {"by_float64", 1},
                                    {"ceiling", nullptr},
                                    {"share_of_ceiling", nullptr}}));
  EXPECT_EQ(graph["started"], "1970-01-01T00:00:00Z");
  EXPECT_EQ(graph["elapsed_s"], 1.5);
  EXPECT_EQ(graph["request"]["base"]["hash"], "0123456789abcdef");
  EXPECT_EQ(graph["request"]["base"]["count"], 500);
  EXPECT_EQ(graph["request"]["base"]["dimension"], 16);
  EXPECT_TRUE(graph["request"]["query"].is_null());
  EXPECT_EQ(graph["request"]["queries"], 500);
  EXPECT_EQ(graph["request"]["exclude_self"], true);
  EXPECT_EQ(graph["request"]["filter"], "none");
  EXPECT_EQ(graph["request"]["metric"], "cosine");
  EXPECT_EQ(graph["request"]["k"], 7);
  EXPECT_EQ(graph["algorithm"]["name"], "qms-block");
  EXPECT_EQ(graph["algorithm"]["file"], "algorithms/quick_multi_select/quick_multi_select.cu");
  EXPECT_EQ(graph["algorithm"]["source_hash"],
            std::string(find_algorithm("qms-block")->source_hash));
  EXPECT_EQ(graph["options"], (json{{"memory_bytes", 1 << 20},
                                    {"tf32", false},
                                    {"half_product", true},
                                    {"sum_by_warp", false},
                                    {"prove", "all"},
                                    {"repeats", 4}}));
  const json asked = record(&query_);
  EXPECT_EQ(asked["request"]["query"]["source"], "query.npy");
  EXPECT_EQ(asked["request"]["queries"], 20);
}

TEST_F(KnnRecord, SaysHowItWasDoneProvenAndBuilt) {
  report_.whole_product_because = "candidates do not fit";
  const json found = record();
  EXPECT_EQ(found["tiles"]["corpus"], 2);
  EXPECT_EQ(found["tiles"]["half_product"], false);
  EXPECT_EQ(found["tiles"]["whole_product_because"], "candidates do not fit");
  EXPECT_EQ(found["verify"]["rows"], 32);
  EXPECT_EQ(found["verify"]["unproven_queries"], 3);
  EXPECT_EQ(found["verify"]["done_again"], true);
  EXPECT_EQ(found["threads"], 4);
  EXPECT_TRUE(found["git"].contains("commit"));
  EXPECT_TRUE(found["build"].contains("compiler"));
  EXPECT_TRUE(found["host"].contains("cpu"));
  EXPECT_TRUE(found.contains("gpu"));
  EXPECT_TRUE(found["ceilings"].is_null()) << "not measured";
  ceilings_.read = 4e12;
  EXPECT_EQ(record()["ceilings"]["read"], 4e12);
}

}  // namespace
}  // namespace kselect::search
