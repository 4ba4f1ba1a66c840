// The adapter of FAISS's selection on the GPU, compiled against stand-ins for FAISS's headers
// (standins/): what it hands over and takes back is proven; FAISS itself is not run.

#define KSELECT_HAS_FAISS_GPU 1
#define faiss_gpu_select faiss_gpu_select_of_standins  // beside the library's own entries
#include "baselines/faiss_gpu_select.cu"
#undef faiss_gpu_select

#include <gmock/gmock.h>

#include "kselect/registry.hpp"
#include "tests/baselines/adapters.hpp"

namespace kselect {
namespace {

using testing_adapters::sized;

TEST(FaissGpuSelect, HandsOverRowsOfEveryTypeAndDirection) {
  const auto place = open_backend(executor_kind::fiber, 1);
  for (const algorithm& listed : entries::faiss_gpu_select_of_standins()) {
    EXPECT_EQ(listed.missing, "");
    const algorithm entry = testing_adapters::on_host(listed);
    workload pitched = sized(100, 5, 7);
    pitched.pitch = 103;
    for (const workload& p : {sized(1, 1, 1), sized(300, 3, 300), pitched}) {
      // Both payloads, index types and directions.
      EXPECT_EQ(testing_adapters::prove_all(entry, p, *place), 12U) << entry.name;
    }
    EXPECT_EQ(entry.name, std::string("faiss-gpu/") + faiss::gpu::called());
  }
}

TEST(FaissGpuSelect, CountsTheIndicesThatAreNotWrittenInPlace) {
  const device where;
  const algorithm& entry = entries::faiss_gpu_select_of_standins()[0];
  workload p = sized(1000, 3, 64);
  p.index = index_type::int64;
  EXPECT_EQ(entry.plan(p, where).workspace(), 0U);
  p.index = index_type::int32;
  EXPECT_EQ(entry.plan(p, where).workspace(), 3U * 64 * sizeof(std::int64_t));
  p.payload = payload::values;
  EXPECT_EQ(entry.plan(p, where).workspace(), 3U * 64 * sizeof(std::int64_t));
}

TEST(FaissGpuSelect, StatesItsLimits) {
  const auto place = open_backend(executor_kind::fiber, 1);
  const algorithm entry = testing_adapters::on_host(entries::faiss_gpu_select_of_standins()[0]);
  const auto reason = [&](const workload& p) {
    return check_support(entry, p, place->description()).reason;
  };
  workload p = sized(5000, 2, 2049);
  EXPECT_EQ(reason(p), "k > 2048");
  p.k = 2048;
  EXPECT_EQ(reason(p), "");
  p.type = dtype::float64;
  EXPECT_EQ(reason(p), "dtype float64 is not supported");
  p.type = dtype::float32;
  p.distribution = {distribution_kind::inf_fraction, 0.5};
  EXPECT_EQ(reason(p), "rows may hold infinities, which the contract excludes");
  p.distribution = {distribution_kind::nan_fraction, 0.5};
  EXPECT_EQ(reason(p), "rows may hold NaN, which the contract excludes");
}

TEST(FaissGpuSelect, IsListedWithTheReasonWhereItIsMissing) {
  const auto listed = match_algorithms("faiss-gpu/*");
  ASSERT_EQ(listed.size(), 2U);
  for (const registered* row : listed) {
    if (row->algorithm->missing.empty()) GTEST_SKIP() << "this build has FAISS for GPUs";
    EXPECT_THAT(std::string(row->algorithm->missing), testing::HasSubstr("FAISS"));
  }
}

}  // namespace
}  // namespace kselect
