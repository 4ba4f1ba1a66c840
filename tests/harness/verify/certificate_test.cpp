// Right answers are accepted, and every way of being wrong is caught by the check that is meant for
// it: a verifier that rejects for another reason would pass where that other reason is absent.

#include "harness/verify/certificate.hpp"

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "harness/error.hpp"
#include "harness/verify/guard.hpp"
#include "tests/harness/verify/answers.hpp"

namespace kselect {
namespace {

using testing_answers::answered;
using testing_answers::chosen;
using testing_answers::column_of;
using testing_answers::negated;
using testing_answers::right_answer;
using testing_answers::row_length;
using testing_answers::rows;

constexpr std::int64_t target = 3;  // the row that is made wrong

struct promise {
  output_ordering ordering = output_ordering::unsorted;
  kselect::tie_break ties = tie_break::unspecified;
};
constexpr promise nothing{};
constexpr promise sorted{output_ordering::sorted, tie_break::unspecified};
constexpr promise stable{output_ordering::stable_sorted, tie_break::unspecified};
constexpr promise first_ties{output_ordering::unsorted, tie_break::prefer_smaller_index};
constexpr promise strictest{output_ordering::stable_sorted, tie_break::prefer_smaller_index};

template <class T, class Index>
struct mutation {
  std::string name;
  payload asked;
  promise promised;
  std::function<void(answered<T, Index>&)> apply;
  std::optional<check> caught_by;  // empty: the answer stays right under this promise
  std::int64_t position = 0;
};

template <class T>
void flip_last_bit(T& value) {
  value = std::bit_cast<T>(bits_of(value) ^ 1U);
}

template <class T>
void poison_one(T& place) {
  poison(std::as_writable_bytes(std::span(&place, 1)));
}

// Ways to change the answer of the target row, in any payload.
template <class T, class Index>
auto choose(std::int64_t j, std::int64_t preference) {
  return [=](answered<T, Index>& it) { it.choose(target, j, column_of(target, preference)); };
}

template <class T, class Index>
auto swap_outputs(std::int64_t a, std::int64_t b) {
  return [=](answered<T, Index>& it) {
    std::swap(it.value(target, a), it.value(target, b));
    if (it.what.has_indices()) std::swap(it.index(target, a), it.index(target, b));
  };
}

// Answers whose indices are no k columns of the row.
template <class T, class Index>
std::vector<mutation<T, Index>> wrong_indices() {
  using answer = answered<T, Index>;
  constexpr payload asked = payload::values_and_indices;
  const auto set_index = [](std::int64_t j, std::int64_t index) {
    return [=](answer& it) { it.index(target, j) = static_cast<Index>(index); };
  };
  const auto drop_last = [](answer& it) {
    poison_one(it.value(target, 7));
    poison_one(it.index(target, 7));
  };
  const auto never_written = [](answer& it) {
    for (std::int64_t j = 0; j < chosen; ++j) {
      it.index(target, j) = 0;
      it.value(target, j) = it.element(target, 0);
    }
  };
  return {
      {"nothing changed", asked, strictest, [](answer&) {}, {}},
      {"index -1", asked, nothing, set_index(5, -1), check::index_range, 5},
      {"index n", asked, nothing, set_index(5, row_length), check::index_range, 5},
      {"index of the widest type", asked, nothing, set_index(5, std::numeric_limits<Index>::max()),
       check::index_range, 5},
      {"last output dropped", asked, nothing, drop_last, check::index_range, 7},
      {"element returned twice", asked, nothing, choose<T, Index>(1, 0), check::index_distinct, 1},
      {"first element k times", asked, nothing, never_written, check::index_distinct, 1},
  };
}

// Answers whose values are not those at their indices.
template <class T, class Index>
std::vector<mutation<T, Index>> wrong_values() {
  using answer = answered<T, Index>;
  constexpr payload asked = payload::values_and_indices;
  const auto neighbour_of_2 = [](answer& it) { ++it.index(target, 2); };
  const auto stale = [](answer& it) { it.value(target, 2) = T{12345}; };
  const auto values_never_written = [](answer& it) {
    for (std::int64_t j = 0; j < chosen; ++j) poison_one(it.value(target, j));
  };
  const auto row_of_another = [](answer& it) {
    for (std::int64_t j = 0; j < chosen; ++j) {
      it.value(target, j) = it.value(target - 1, j);
      it.index(target, j) = it.index(target - 1, j);
    }
  };
  return {
      {"index off by one", asked, nothing, neighbour_of_2, check::value_bits, 2},
      {"stale value", asked, nothing, stale, check::value_bits, 2},
      {"only indices written", asked, nothing, values_never_written, check::value_bits, 0},
      {"answer of the row before", asked, nothing, row_of_another, check::value_bits, 0},
      {"NaN payload changed", asked, nothing,
       [](answer& it) { flip_last_bit(it.value(target, 0)); }, check::value_bits, 0},
      {"sign of the better zero lost", asked, nothing,
       [](answer& it) { it.value(target, 4) = negated(it.value(target, 4)); }, check::value_bits,
       4},
      {"sign of the worse zero lost", asked, nothing,
       [](answer& it) { it.value(target, 5) = negated(it.value(target, 5)); }, check::value_bits,
       5},
  };
}

// Answers made of elements of the row that are not its k best.
template <class T, class Index>
std::vector<mutation<T, Index>> wrong_choices() {
  using answer = answered<T, Index>;
  constexpr payload asked = payload::values_and_indices;
  const auto wrong_direction = [](answer& it) {
    for (std::int64_t j = 0; j < chosen; ++j) {
      it.choose(target, j, column_of(target, row_length - chosen + j));
    }
  };
  return {
      {"worst key for a better one", asked, nothing, choose<T, Index>(2, row_length - 1),
       check::count, 2},
      {"worst key for a tie", asked, nothing, choose<T, Index>(7, row_length - 1), check::count, 7},
      {"tie for a better key", asked, nothing, choose<T, Index>(0, 8), check::count, 0},
      {"k worst", asked, nothing, wrong_direction, check::count, 7},
  };
}

// Right sets in the wrong order or with the wrong ties, where that was promised or not.
template <class T, class Index>
std::vector<mutation<T, Index>> broken_promises() {
  constexpr payload asked = payload::values_and_indices;
  return {
      {"pair swapped, sorted", asked, sorted, swap_outputs<T, Index>(2, 3), check::ordering, 3},
      {"pair swapped, not promised", asked, nothing, swap_outputs<T, Index>(2, 3), {}},
      {"zeros swapped, sorted", asked, sorted, swap_outputs<T, Index>(4, 5), check::ordering, 5},
      {"ties swapped, stable", asked, stable, swap_outputs<T, Index>(6, 7), check::stability, 7},
      {"ties swapped, sorted", asked, sorted, swap_outputs<T, Index>(6, 7), {}},
      {"ties swapped, first ties", asked, first_ties, swap_outputs<T, Index>(6, 7), {}},
      {"later tie, first ties", asked, first_ties, choose<T, Index>(7, 8), check::tie_break, 7},
      {"last tie, first ties", asked, first_ties, choose<T, Index>(6, 10), check::tie_break, 6},
      {"last tie, not promised", asked, stable, choose<T, Index>(7, 10), {}},
  };
}

template <class T, class Index>
std::vector<mutation<T, Index>> value_mutations() {
  using answer = answered<T, Index>;
  constexpr payload asked = payload::values;
  const auto copy = [](std::int64_t to, std::int64_t from) {
    return [=](answer& it) { it.value(target, to) = it.value(target, from); };
  };
  const auto ties_only = [](answer& it) {
    for (std::int64_t j = 0; j < chosen; ++j) it.value(target, j) = it.value(target, 7);
  };
  const auto stale_worse = [](answer& it) {
    it.value(target, 2) = it.element(target, column_of(target, 20)) * static_cast<T>(1.26);
  };
  constexpr check often = check::value_multiplicity;
  return {
      {"nothing changed", asked, strictest, [](answer&) {}, {}},
      {"better key twice, another missing", asked, nothing, copy(1, 2), often, 2},
      {"better key twice, a tie missing", asked, nothing, copy(6, 5), check::count, 7},
      {"ties more often than in the row", asked, nothing, ties_only, often, 7},
      {"tie for a better key", asked, nothing, copy(0, 7), check::count, 0},
      {"worst key for a better one", asked, nothing, choose<T, Index>(2, row_length - 1),
       check::count, 2},
      {"worst key for a tie", asked, nothing, choose<T, Index>(7, row_length - 1), check::count, 7},
      {"stale worse value", asked, nothing, stale_worse, often, 2},
      {"stale better value", asked, nothing, [](answer& it) { it.value(target, 2) *= T{1.25}; },
       often, 2},
      {"NaN payload changed", asked, nothing,
       [](answer& it) { flip_last_bit(it.value(target, 0)); }, often, 0},
      {"sign of a zero lost", asked, nothing, copy(4, 5), often, 5},
      {"pair swapped, sorted", asked, sorted, swap_outputs<T, Index>(2, 3), check::ordering, 3},
      {"pair swapped, not promised", asked, nothing, swap_outputs<T, Index>(2, 3), {}},
  };
}

template <class T, class Index>
std::vector<mutation<T, Index>> kth_mutations() {
  using answer = answered<T, Index>;
  constexpr payload asked = payload::kth_value;
  const auto choose = [](std::int64_t preference) {
    return [=](answer& it) { it.choose(target, 0, column_of(target, preference)); };
  };
  return {
      {"nothing changed", asked, strictest, [](answer&) {}, {}},
      {"first of the ties", asked, strictest, choose(6), {}},
      {"last of the ties", asked, strictest, choose(10), {}},
      {"last better key", asked, nothing, choose(5), check::kth_rank, 0},
      {"first worse key", asked, nothing, choose(11), check::kth_rank, 0},
      {"best key", asked, nothing, choose(0), check::kth_rank, 0},
      {"bits of no element", asked, nothing, [](answer& it) { flip_last_bit(it.value(target, 0)); },
       check::value_bits, 0},
      {"never written", asked, nothing, [](answer& it) { poison_one(it.value(target, 0)); },
       check::value_bits, 0},
  };
}

struct storage {
  layout lies;
  std::int64_t pitch;
};
constexpr storage storages[] = {{layout::row_major, 0},
                                {layout::row_major, row_length + 3},
                                {layout::column_major, 0},
                                {layout::column_major, rows + 2}};

template <class T, class Index>
void expect_caught(const std::vector<mutation<T, Index>>& mutations) {
  for (const auto& m : mutations) {
    for (const direction wanted : {direction::smallest, direction::largest}) {
      for (const storage& s : storages) {
        auto answer = right_answer<T, Index>(wanted, s.lies, s.pitch, m.asked);
        answer.promises.ordering = m.promised.ordering;
        answer.promises.tie_break = m.promised.ties;
        m.apply(answer);
        const verdict found = answer.check();
        SCOPED_TRACE(m.name + " in " + to_string(answer.what) +
                     (found.first ? "\n" + found.first->detail : std::string()));
        EXPECT_EQ(found.rows_checked, rows);
        EXPECT_EQ(found.rows_wrong, m.caught_by ? 1 : 0);
        ASSERT_EQ(found.first.has_value(), m.caught_by.has_value());
        EXPECT_EQ(static_cast<bool>(found), !m.caught_by);
        if (!m.caught_by) continue;
        EXPECT_EQ(to_string(found.first->failed), to_string(*m.caught_by));
        EXPECT_EQ(found.first->row, target);
        EXPECT_EQ(found.first->position, m.position);
      }
    }
  }
}

template <class Types>
class certificate_mutations : public testing::Test {};
using type_pairs = testing::Types<std::pair<float, std::int32_t>, std::pair<float, std::int64_t>,
                                  std::pair<double, std::int32_t>, std::pair<double, std::int64_t>>;
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
}  // namespace kselect
