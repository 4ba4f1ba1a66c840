#pragma once
// Every kind of error, with the check meant for it. A verifier that rejects an answer for another
// reason would accept the error where that reason is absent.

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "answers.hpp"
#include "harness/verify/guard.hpp"

namespace kselect::harness::testing_answers {

inline constexpr std::int64_t target = 3;  // the row with the error

struct promise {
  output_ordering ordering = output_ordering::unsorted;
  kselect::tie_break ties = tie_break::unspecified;
};
inline constexpr promise nothing{};
inline constexpr promise sorted{output_ordering::sorted, tie_break::unspecified};
inline constexpr promise stable{output_ordering::stable_sorted, tie_break::unspecified};
inline constexpr promise first_ties{output_ordering::unsorted, tie_break::prefer_smaller_index};
inline constexpr promise strictest{output_ordering::stable_sorted, tie_break::prefer_smaller_index};

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
  value = std::bit_cast<T>(static_cast<order_key_t<T>>(bits_of(value) ^ 1U));
}

template <class T>
T scaled(T value, float factor) {
  if constexpr (sizeof(T) == 2) {
    return from_float<T>(to_float(value) * factor);
  } else {
    return value * static_cast<T>(factor);
  }
}

template <class T>
void poison_one(T& place) {
  poison(std::as_writable_bytes(std::span(&place, 1)));
}

// Changes of the target row's answer, for any payload.
template <class T, class Index>
auto choose(std::int64_t j, std::int64_t preference) {
  return [j, preference](answered<T, Index>& it) {
    it.choose(target, j, column_of(target, preference));
  };
}

template <class T, class Index>
auto swap_outputs(std::int64_t a, std::int64_t b) {
  return [a, b](answered<T, Index>& it) {
    std::swap(it.value(target, a), it.value(target, b));
    if (it.what.has_indices()) std::swap(it.index(target, a), it.index(target, b));
  };
}

// Answers whose indices are not k distinct columns of the row.
template <class T, class Index>
std::vector<mutation<T, Index>> wrong_indices() {
  using answer = answered<T, Index>;
  constexpr payload asked = payload::values_and_indices;
  const auto set_index = [](std::int64_t j, std::int64_t index) {
    return [j, index](answer& it) { it.index(target, j) = static_cast<Index>(index); };
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
      {"widest index of the worst key", asked, nothing,
       set_index(7, std::numeric_limits<Index>::max()), check::index_range, 7},
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
  const auto stale = [](answer& it) { it.value(target, 2) = from_float<T>(12345); };
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

// Right sets in the wrong order or with the wrong ties, with and without such a promise.
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
    return [to, from](answer& it) { it.value(target, to) = it.value(target, from); };
  };
  const auto ties_only = [](answer& it) {
    for (std::int64_t j = 0; j < chosen; ++j) it.value(target, j) = it.value(target, 7);
  };
  const auto stale_worse = [](answer& it) {
    it.value(target, 2) = scaled(it.element(target, column_of(target, 20)), 1.26F);
  };
  const auto stale_better = [](answer& it) {
    it.value(target, 2) = scaled(it.value(target, 2), 1.25F);
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
      {"stale better value", asked, nothing, stale_better, often, 2},
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
    return [preference](answer& it) { it.choose(target, 0, column_of(target, preference)); };
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
inline constexpr storage storages[] = {{layout::row_major, 0},
                                       {layout::row_major, row_length + 3},
                                       {layout::column_major, 0},
                                       {layout::column_major, rows + 2}};

// Calls f(mutation, answer) with the mutated answer in both directions and all storages.
template <class T, class Index, class F>
void for_each_mutation(const std::vector<mutation<T, Index>>& mutations, F&& f) {
  for (const auto& m : mutations) {
    for (const direction wanted : {direction::smallest, direction::largest}) {
      for (const storage& s : storages) {
        auto answer = right_answer<T, Index>(wanted, s.lies, s.pitch, m.asked);
        answer.promises.ordering = m.promised.ordering;
        answer.promises.tie_break = m.promised.ties;
        m.apply(answer);
        SCOPED_TRACE(m.name + " in " + to_string(answer.what));
        f(m, std::as_const(answer));
      }
    }
  }
}

using type_pairs =
    testing::Types<std::pair<float, std::int32_t>, std::pair<float, std::int64_t>,
                   std::pair<double, std::int32_t>, std::pair<double, std::int64_t>,
                   std::pair<float16, std::int32_t>, std::pair<float16, std::int64_t>,
                   std::pair<bfloat16, std::int32_t>, std::pair<bfloat16, std::int64_t>>;

// Expects each mutation of an answer with indices to be caught by the check meant for it.
template <class T, class Index>
void expect_mutations_caught(const judge& by) {
  for (const auto& all : {wrong_indices<T, Index>(), wrong_values<T, Index>(),
                          wrong_choices<T, Index>(), broken_promises<T, Index>()}) {
    for_each_mutation(all, [&by](const auto& m, const auto& answer) {
      const judgement found = answer.judged(by);
      EXPECT_EQ(found.rows_checked, rows);
      EXPECT_EQ(found.rows_wrong, m.caught_by ? 1 : 0);
      EXPECT_EQ(found.first_row, m.caught_by ? target : -1);
      EXPECT_EQ(found.failed, m.caught_by);
    });
  }
}

}  // namespace kselect::harness::testing_answers
