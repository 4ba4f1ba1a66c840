// Kept plans: right answers from other buffers, and an error status for every wrong call.

#include <algorithm>
#include <gmock/gmock.h>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "kselect/select.hpp"

namespace kselect {
namespace {

using testing::HasSubstr;

// Rows of distinct numbers from `least` on; the smallest of row r is at column (r + least) mod n.
std::vector<float> rows_from(float least, std::int64_t q, std::int64_t n) {
  std::vector<float> rows(static_cast<std::size_t>(q * n));
  for (std::int64_t r = 0; r < q; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      const std::int64_t column = (c + r + static_cast<std::int64_t>(least)) % n;
      rows[static_cast<std::size_t>(r * n + column)] = least + static_cast<float>(c);
    }
  }
  return rows;
}

class KeptPlan : public testing::Test {
 protected:
  static constexpr std::int64_t q = 3, n = 2000, k = 4;
  static constexpr select_options sorted{.require = {.ordering = output_ordering::sorted}};

  status select_by(const select_plan& plan) {
    return select(plan, rows_, values_, indices_, memory_);
  }

  std::vector<float> data_ = rows_from(0, q, n);
  row_matrix<float> rows_{.data = data_.data(), .q = q, .n = n};
  select_plan plan_ = plan_select(rows_, k, place::cpu(2), sorted);
  std::vector<std::byte> memory_ = std::vector<std::byte>(plan_.workspace());
  std::vector<float> values_ = std::vector<float>(q * k);
  std::vector<std::int32_t> indices_ = std::vector<std::int32_t>(q * k);
};

TEST_F(KeptPlan, SelectsFromOtherBuffersOfTheSameShape) {
  ASSERT_TRUE(plan_) << plan_.outcome().message;
  EXPECT_TRUE(plan_.outcome().ok());
  EXPECT_FALSE(plan_.algorithm().empty());
  for (const float least : {0.0F, 10.0F, 500.0F}) {
    const auto data = rows_from(least, q, n);
    const row_matrix<float> rows{.data = data.data(), .q = q, .n = n};
    std::vector<float> values(q * k);
    std::vector<std::int32_t> indices(q * k);
    std::vector<std::byte> memory(plan_.workspace());
    const select_plan copy = plan_;
    ASSERT_TRUE(select(copy, rows, values, indices, memory).ok());
    for (std::int64_t r = 0; r < q; ++r) {
      for (std::int64_t j = 0; j < k; ++j) {
        const auto at = static_cast<std::size_t>(r * k + j);
        EXPECT_EQ(values[at], least + static_cast<float>(j));
        EXPECT_EQ(indices[at], (j + r + static_cast<std::int64_t>(least)) % n);
      }
    }
  }
}

TEST_F(KeptPlan, NeedsNoDataAndGivesWhatTheCallGives) {
  const row_matrix<float> shape{.q = q, .n = n};
  for (const select_options& options : {select_options{}, sorted}) {
    const select_plan plan = plan_select<std::int64_t>(shape, k, place::cpu(1), options);
    ASSERT_TRUE(plan) << plan.outcome().message;
    EXPECT_LE(plan.workspace(),
              (select_workspace<float, std::int64_t>(shape, k, place::cpu(1), options)));
    std::vector<std::byte> memory(plan.workspace());
    std::vector<float> values(q * k), expected(q * k);
    std::vector<std::int64_t> indices(q * k), columns(q * k);
    ASSERT_TRUE(select(plan, rows_, values, indices, memory).ok());
    ASSERT_TRUE(select(rows_, k, expected, columns, place::cpu(1), options).ok());
    EXPECT_EQ(values, expected);
    EXPECT_EQ(indices, columns);
  }
}

TEST_F(KeptPlan, OneElementOfEachRowNeedsNoSorting) {
  const select_options by_unsorted{.require = sorted.require,
                                   .algorithm = find_algorithm("cpu/nth_element")->algorithm};
  EXPECT_FALSE(plan_select(rows_, 2, place::cpu(1), by_unsorted));
  EXPECT_TRUE(plan_select(rows_, 1, place::cpu(1), by_unsorted));
  EXPECT_EQ(plan_select(rows_, 1, place::cpu(1), sorted).algorithm(),
            plan_select(rows_, 1, place::cpu(1)).algorithm());
  EXPECT_NE(plan_select(rows_, 2, place::cpu(1), sorted).algorithm(),
            plan_select(rows_, 2, place::cpu(1)).algorithm());
}

TEST_F(KeptPlan, ForValuesAloneTakesNoIndices) {
  const select_plan values_only =
      plan_select<void>(rows_, k, place::cpu(1), {.direction = direction::largest});
  ASSERT_TRUE(values_only) << values_only.outcome().message;
  memory_.resize(values_only.workspace());
  ASSERT_TRUE(select(values_only, rows_, values_, std::span<std::int32_t>{}, memory_).ok());
  std::sort(values_.begin(), values_.begin() + k);
  EXPECT_EQ(values_[0], n - k);
  const status indexed = select_by(values_only);
  EXPECT_EQ(indexed.code, status_code::invalid);
  EXPECT_THAT(indexed.message, HasSubstr("the plan is for"));
}

TEST_F(KeptPlan, RefusesOtherShapesAndTypes) {
  const auto refused = [&](const status& done) {
    EXPECT_EQ(done.code, status_code::invalid);
    EXPECT_THAT(done.message, HasSubstr("the plan is for float32/smallest/Q=3/n=2000/k=4/"));
  };
  rows_.q = 2;
  refused(select_by(plan_));
  rows_ = {.data = data_.data(), .q = q, .n = n - 1, .pitch = n};
  refused(select_by(plan_));
  rows_ = {.data = data_.data(), .q = q, .n = n, .layout = layout::column_major};
  refused(select_by(plan_));
  rows_ = {.data = data_.data(), .q = q, .n = n};
  std::vector<std::int64_t> wide(q * k);
  refused(select(plan_, rows_, values_, wide, memory_));
  std::vector<double> doubles(data_.begin(), data_.end()), double_values(q * k);
  refused(select(plan_, row_matrix<double>{.data = doubles.data(), .q = q, .n = n}, double_values,
                 indices_, memory_));
}

TEST_F(KeptPlan, RefusesShortBuffers) {
  const auto says = [&](const char* what) {
    const status done = select_by(plan_);
    EXPECT_EQ(done.code, status_code::invalid);
    EXPECT_THAT(done.message, HasSubstr(what));
  };
  memory_.resize(memory_.size() - 300);
  says("ask select_plan::workspace()");
  memory_.resize(plan_.workspace());
  values_.resize(q * k - 1);
  says("values has 11 elements, but Q * k = 12 are written");
  values_.resize(q * k);
  indices_.resize(q * k - 1);
  says("indices has 11 elements");
  indices_.resize(q * k);
  rows_.data = nullptr;
  says("rows.data is null");
  rows_.data = data_.data();
  EXPECT_TRUE(select_by(plan_).ok());
}

TEST_F(KeptPlan, IsForOneDeviceAndItsThreads) {
  EXPECT_TRUE(select(plan_, rows_, values_, indices_, memory_, place::cpu(2)).ok());
  for (const place& other : {place::cpu(1), place::cuda()}) {
    const status done = select(plan_, rows_, values_, indices_, memory_, other);
    EXPECT_EQ(done.code, status_code::invalid);
    EXPECT_THAT(done.message, HasSubstr("the plan was made for cpu"));
  }
}

TEST_F(KeptPlan, ThatWasRefusedSaysWhyInEachCall) {
  const select_plan too_many = plan_select(rows_, n + 1, place::cpu());
  EXPECT_FALSE(too_many);
  EXPECT_EQ(too_many.workspace(), 0U);
  EXPECT_EQ(too_many.outcome().code, status_code::invalid);
  EXPECT_THAT(too_many.outcome().message, HasSubstr("k = 2001, but must be 0 to n = 2000"));
  EXPECT_EQ(select_by(too_many).message, too_many.outcome().message);
  EXPECT_EQ(select_by(select_plan{}).code, status_code::unsupported);
  EXPECT_EQ(select_plan{}.algorithm(), "");

  const place gpu = place::cuda();
  if (gpu.obstacle().empty()) return;
  const select_plan nowhere = plan_select(rows_, k, gpu);
  EXPECT_FALSE(nowhere);
  EXPECT_EQ(nowhere.outcome().code, status_code::unsupported);
  EXPECT_EQ(nowhere.outcome().message, gpu.obstacle());
}

TEST_F(KeptPlan, NamesTheEntryThatDoesNotTakeIt) {
  const registered* const found = find_algorithm("qms-block");
  if (found == nullptr) GTEST_SKIP() << "left out of this build";
  const select_plan plan = plan_select(rows_, k, place::cpu(1), {.algorithm = found->algorithm});
  EXPECT_EQ(plan.outcome().code, status_code::unsupported);
  EXPECT_EQ(plan.outcome().message, "qms-block: executor cpu is not supported");
}

}  // namespace
}  // namespace kselect
