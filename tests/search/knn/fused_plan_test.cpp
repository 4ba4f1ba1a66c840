// Plans of the fused search for GPUs that are not here.

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/plan.hpp"

namespace kselect::search::fused {
namespace {

device gpu(int compute_capability, int multiprocessors) {
  device place;
  place.kind = executor_kind::cuda;
  place.multiprocessors = multiprocessors;
  place.compute_capability = compute_capability;
  return place;
}

search_shape shape(std::int64_t dimension) {
  return {.n = 1'000'000, .q = 10'000, .dimension = dimension, .k = 100, .wgmma_is_built = true};
}

product_body body_of(const search_shape& s, const device& place) {
  return plan_search(s, place).body;
}

TEST(fused_plan, takes_wgmma_where_it_can) {
  EXPECT_EQ(body_of(shape(128), gpu(90, 132)), product_body::wgmma);
  EXPECT_EQ(body_of(shape(1), gpu(90, 132)), product_body::wgmma);
  EXPECT_EQ(body_of(shape(129), gpu(90, 132)), product_body::wgmma_slabs);
  search_shape each = shape(129);
  each.each = true;
  EXPECT_EQ(body_of(each, gpu(90, 132)), product_body::mma_sync);
  for (const int other : {80, 86, 89, 100, 120}) {
    EXPECT_EQ(body_of(shape(128), gpu(other, 132)), product_body::mma_sync) << other;
  }
  device fibers;
  fibers.kind = executor_kind::fiber;
  EXPECT_EQ(body_of(shape(128), fibers), product_body::mma_sync);
  search_shape without = shape(128);
  without.wgmma_is_built = false;
  EXPECT_EQ(body_of(without, gpu(90, 132)), product_body::mma_sync);
}

// Where they have fewer slabs.
TEST(fused_plan, multiplies_bytes_in_integers_where_that_is_faster) {
  EXPECT_TRUE(integers_are_faster(shape(784), gpu(90, 132)));
  EXPECT_TRUE(integers_are_faster(shape(128), gpu(90, 132)));
  EXPECT_FALSE(integers_are_faster(shape(64), gpu(90, 132)));
  search_shape each = shape(128);
  each.each = true;
  EXPECT_FALSE(integers_are_faster(each, gpu(90, 132))) << "wgmma has it, but integers by mma.sync";
  EXPECT_TRUE(integers_are_faster(shape(128), gpu(80, 108)));
  EXPECT_FALSE(integers_are_faster(shape(64), gpu(80, 108))) << "one slab either way";
  search_shape s = shape(128);
  s.factors = simt::product::bfloat16;
  EXPECT_EQ(body_of(s, gpu(90, 132)), product_body::wgmma_slabs);
}

TEST(fused_plan, takes_the_body_that_is_asked_for) {
  search_shape s = shape(128);
  s.body = product_body::mma_sync;
  EXPECT_EQ(body_of(s, gpu(90, 132)), product_body::mma_sync);
  s.body = product_body::wgmma;
  EXPECT_EQ(body_of(s, gpu(80, 108)), product_body::wgmma);  // its launch is refused, with a reason
  EXPECT_FALSE(why_not_wgmma(gpu(80, 108), 2).empty());
  EXPECT_FALSE(why_not_wgmma(gpu(90, 132), 3).empty());
  EXPECT_TRUE(why_not_wgmma(gpu(90, 132), 2).empty());
}

// By two tiles at once.
TEST(fused_plan, takes_wgmma_by_slabs_for_what_registers_do_not_hold) {
  const device place = gpu(90, 132);
  EXPECT_TRUE(why_not_by_slabs(place).empty());
  EXPECT_FALSE(why_not_by_slabs(gpu(100, 132)).empty());
  for (const std::int64_t q : {100, 10'000}) {
    search_shape s = shape(960);
    s.q = q;
    const search_plan plan = plan_search(s, place);
    EXPECT_EQ(plan.body, product_body::wgmma_slabs);
    EXPECT_EQ(plan.second.part % 2, 0);
    EXPECT_GE(plan.second.part * plan.second.splits, plan.second.tiles());
    EXPECT_LT(plan.second.part * (plan.second.splits - 1), plan.second.tiles());
    EXPECT_EQ(plan.matrix.part % (2 * std::max<std::int64_t>(plan.group, 1)), 0);
  }
}

// The longest time of a multiprocessor, in tiles of 256 queries by 128 vectors: near the least.
TEST(fused_plan, parts_of_wgmma_fill_the_gpu) {
  const device place = gpu(90, 132);
  for (const std::int64_t q : {4096, 10'000}) {
    const pass_plan pass = plan_pass(0, 7813, q, 300, place, product_body::wgmma);
    const std::int64_t pairs = (q + 255) / 256, blocks = pairs * pass.splits;
    const std::int64_t waves = (blocks + 131) / 132;
    EXPECT_LE(static_cast<double>(waves * pass.part),
              1.05 * 7813.0 * static_cast<double>(pairs) / 132)
        << q;
    EXPECT_GE(pass.part * pass.splits, 7813);
    EXPECT_LT(pass.part * (pass.splits - 1), 7813);
  }
}

// A tile of queries that is shorter than others has parts of its own, in the memory of theirs.
TEST(fused_plan, parts_of_fewer_queries_fill_the_gpu_too) {
  const device place = gpu(90, 132);
  constexpr std::int64_t tiles = 19'532, most_rows = 7936;
  const pass_plan all = plan_pass(0, tiles, most_rows, 300, place, product_body::wgmma);
  const list_sizes memory = list_sizes::of(all, most_rows);
  const auto busy = [&](const pass_plan& pass, std::int64_t rows) {
    const std::int64_t pairs = (rows + 255) / 256, waves = (pairs * pass.splits + 131) / 132;
    return static_cast<double>(pairs * tiles) / static_cast<double>(132 * waves * pass.part);
  };
  EXPECT_GT(busy(all, most_rows), 0.97);
  EXPECT_LT(busy(all, 6400), 0.85) << "the parts of more rows suit fewer";
  for (std::int64_t rows = 1024; rows <= most_rows; rows += 256) {
    const pass_plan pass = plan_pass_of_fewer(all, rows, memory, place, product_body::wgmma);
    EXPECT_TRUE(memory.hold(list_sizes::of(pass, rows))) << rows;
    EXPECT_GT(busy(pass, rows), 0.93) << rows << ' ' << pass.splits;
    EXPECT_GE(pass.part * pass.splits, tiles);
  }
}

// Blocks wait most of their time: small ones hide that, and few queries leave room for large ones.
TEST(fused_plan, finishes_a_query_by_as_many_threads_as_suit_it) {
  const device place = gpu(90, 132);
  const auto threads = [&](std::int64_t q, std::int64_t k) {
    search_shape s = shape(128);
    s.q = q;
    s.k = k;
    return plan_search(s, place).room.threads;
  };
  EXPECT_EQ(threads(10'000, 100), 128);
  EXPECT_EQ(threads(10'000, 10), 64);
  EXPECT_EQ(threads(100, 100), 256);
  EXPECT_EQ(threads(100, 10), 256);
}

// The graph of MNIST's shape: with 15 tiles, a fifth, a multiprocessor would take two steps more.
TEST(fused_plan, takes_the_maxima_of_a_small_corpus_in_few_steps) {
  const search_shape s{.n = 10'000,
                       .q = 10'000,
                       .dimension = 784,
                       .k = 10,
                       .wgmma_is_built = true,
                       .factors = simt::product::int8};
  const search_plan plan = plan_search(s, gpu(90, 132));
  EXPECT_EQ(plan.matrix_tiles, 12);
  EXPECT_EQ(plan.matrix.steps, 6.5);
  EXPECT_EQ(plan_pass(0, 15, 10'000, 0, gpu(90, 132), plan.body).steps, 8.25);
  EXPECT_GE(plan.columns(), 4 * plan.matrix_rank);
}

TEST(fused_plan, refuses_the_cpu) {
  device host;
  EXPECT_NE(why_not(host), "");
  host.kind = executor_kind::cuda;
  host.compute_capability = 75;
  EXPECT_NE(why_not(host), "");
  host.compute_capability = 90;
  EXPECT_EQ(why_not(host), "");
}

// The driver makes code for a new GPU from old PTX, too, and there the products' verb traps.
TEST(fused_plan, refuses_a_gpu_that_runs_code_for_an_older_one) {
  device gpu;
  gpu.kind = executor_kind::cuda;
  gpu.compute_capability = 80;
  EXPECT_NE(why_not(gpu, 75).find("code of 7.5 for this GPU"), std::string::npos);
  EXPECT_EQ(why_not(gpu, 80), "");
  gpu.compute_capability = 100;
  EXPECT_EQ(why_not(gpu, 90), "");
}

}  // namespace
}  // namespace kselect::search::fused
