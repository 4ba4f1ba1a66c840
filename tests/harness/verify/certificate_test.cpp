// Right answers are accepted, and every kind of error is caught by the check meant for it
// (mutations.hpp).

#include "harness/verify/certificate.hpp"

#include <gtest/gtest.h>

#include "mutations.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

using namespace testing_answers;

template <class T, class Index>
void expect_caught(const std::vector<mutation<T, Index>>& mutations) {
  for_each_mutation(mutations, [](const mutation<T, Index>& m, const answered<T, Index>& answer) {
    const verdict found = answer.check();
    if (found.first) SCOPED_TRACE(found.first->detail);
    EXPECT_EQ(found.rows_checked, rows);
    EXPECT_EQ(found.rows_wrong, m.caught_by ? 1 : 0);
    ASSERT_EQ(found.first.has_value(), m.caught_by.has_value());
    EXPECT_EQ(static_cast<bool>(found), !m.caught_by);
    if (!m.caught_by) return;
    EXPECT_EQ(to_string(found.first->failed), to_string(*m.caught_by));
    EXPECT_EQ(found.first->row, target);
    EXPECT_EQ(found.first->position, m.position);
  });
}

template <class Types>
class certificate_mutations : public testing::Test {};
TYPED_TEST_SUITE(certificate_mutations, type_pairs);

TYPED_TEST(certificate_mutations, with_indices_are_caught_by_the_check_meant_for_them) {
  using T = typename TypeParam::first_type;
  using Index = typename TypeParam::second_type;
  expect_caught(wrong_indices<T, Index>());
  expect_caught(wrong_values<T, Index>());
  expect_caught(wrong_choices<T, Index>());
  expect_caught(broken_promises<T, Index>());
}

TYPED_TEST(certificate_mutations, of_values_alone_are_caught_by_the_check_meant_for_them) {
  using T = typename TypeParam::first_type;
  using Index = typename TypeParam::second_type;
  expect_caught(value_mutations<T, Index>());
}

TYPED_TEST(certificate_mutations, of_the_kth_value_are_caught_by_the_check_meant_for_them) {
  using T = typename TypeParam::first_type;
  using Index = typename TypeParam::second_type;
  expect_caught(kth_mutations<T, Index>());
}

TEST(certificate, names_the_lowest_of_several_wrong_rows) {
  auto answer = right_answer<float, std::int32_t>(direction::smallest, layout::row_major, 0);
  answer.index(4, 0) = -1;
  answer.choose(1, 2, column_of(1, row_length - 1));
  const verdict found = answer.check();
  EXPECT_EQ(found.rows_wrong, 2);
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->row, 1);
  EXPECT_EQ(found.first->failed, check::count);
}

TEST(certificate, detail_tells_what_was_left_out_in_one_line) {
  auto answer = right_answer<float, std::int32_t>(direction::smallest, layout::row_major, 0);
  answer.choose(3, 2, column_of(3, 39));
  EXPECT_EQ(answer.check().first->detail,
            "count: row 3, position 2: the row holds 39 keys better than the worst returned, 39 "
            "(0x421c0000); 7 of them are returned; left out: -2 (0xc0000000) at index 3");
}

TEST(certificate, detail_shows_bits_where_the_printed_values_agree) {
  auto answer = right_answer<float, std::int32_t>(direction::smallest, layout::row_major, 0);
  flip_last_bit(answer.value(3, 0));
  EXPECT_EQ(
      answer.check().first->detail,
      "value_bits: row 3, position 0: value -nan (0xffc01235) is returned with index 9, where "
      "the row holds -nan (0xffc01234)");
}

TEST(certificate, has_nothing_to_check_when_a_size_is_zero) {
  for (const auto& [n, q, k] : {std::array{0, 3, 0}, std::array{3, 0, 2}, std::array{3, 3, 0}}) {
    problem empty;
    empty.n = n;
    empty.q = q;
    empty.k = k;
    const verdict found = verify(empty, {}, {}, 1);
    EXPECT_TRUE(found);
    EXPECT_EQ(found.rows_checked, 0);
  }
}

TEST(certificate, refuses_missing_buffers_and_threads) {
  const auto answer = right_answer<float, std::int32_t>(direction::smallest, layout::row_major, 0);
  auto copy = answer;
  const io all{copy.input.data(), copy.values.data(), copy.indices.data()};
  EXPECT_TRUE(verify(copy.what, {}, all, 1));
  EXPECT_THROW(verify(copy.what, {}, {nullptr, all.values, all.indices}, 1), error);
  EXPECT_THROW(verify(copy.what, {}, {all.input, nullptr, all.indices}, 1), error);
  EXPECT_THROW(verify(copy.what, {}, {all.input, all.values, nullptr}, 1), error);
  EXPECT_THROW(verify(copy.what, {}, all, 0), error);
}

}  // namespace
}  // namespace kselect::harness
