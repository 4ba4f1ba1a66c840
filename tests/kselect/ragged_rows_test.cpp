// Rows of lengths of their own, by the library's call: thousands of random problems with all
// options mixed, on the CPU and on fibers, against a sort of each row; and what is wrong with a
// call.

#include "kselect/ragged_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <gmock/gmock.h>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/float16.hpp"
#include "kselect/ragged.hpp"
#include "tests/fibers.hpp"

namespace kselect {
namespace {

using testing::HasSubstr;

// A random problem: rows anywhere in a buffer, as segments or with lengths, starts or both.
template <class T, class Number>
struct random_rows {
  explicit random_rows(std::mt19937& random, std::int64_t longest) : bits(random) {
    n = 1 + below(longest);
    q = 1 + below(6);
    k = 1 + below(2 * n);
    pitch = n + below(9);
    data.resize(static_cast<std::size_t>(q * pitch + 8));
    const std::int64_t values = below(2) == 0 ? 5 : 100'000;  // few: full of ties
    nans = below(3) == 0;
    for (T& x : data) x = element(values);
    const std::int64_t form = below(4);
    std::int64_t at = below(5);
    for (std::int64_t r = 0; r < q; ++r) {
      const std::int64_t length = below(4) == 0 ? std::min(k, n) : below(n + 1);
      lengths.push_back(static_cast<Number>(length));
      starts.push_back(static_cast<Number>(form == 2 ? below(n + 1) : below(8)));
      offsets.push_back(static_cast<Number>(at));
      at += std::min(length, static_cast<std::int64_t>(data.size()) - at);
    }
    offsets.push_back(static_cast<Number>(at));
    segments = form == 0;
    if (form == 1) starts.clear();
    if (form == 2) lengths.clear();
    fill = below(2) == 0 ? -1 : below(n);
    if (below(3) == 0) {
      for (std::int64_t r = 0; r < q; ++r) k_each.push_back(static_cast<Number>(below(k + 1)));
    }
    name_elements(below(4));
  }

  // Element i of what the map covers has the name 3 i + 1.
  void name_elements(std::int64_t how) {
    if (how > 1) return;
    named_of_input = how == 1;
    for (std::size_t i = 0; i < data.size() + 8; ++i) {
      names.push_back(static_cast<std::int32_t>(3 * i + 1));
    }
  }
  std::int64_t wanted(std::int64_t r) const {
    return k_each.empty() ? k : static_cast<std::int64_t>(k_each[static_cast<std::size_t>(r)]);
  }
  // The number of a row's first element in the map.
  std::int64_t first_name(std::int64_t r) const {
    const auto at = static_cast<std::size_t>(r);
    if (segments) return offsets[at];
    return (starts.empty() ? 0 : starts[at]) + (named_of_input ? r * pitch : 0);
  }

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(end));
  }
  T element(std::int64_t values) {
    if (below(50) == 0) return std::bit_cast<T>(static_cast<order_key_t<T>>(bits()));  // NaN, too
    if (nans && below(4) == 0) {
      const auto some = static_cast<order_key_t<T>>(bits());
      return std::bit_cast<T>(static_cast<order_key_t<T>>(some | infinity_bits<T> | 1U));
    }
    const auto x = static_cast<float>(below(values) - values / 2);
    if constexpr (sizeof(T) == 2) {
      return from_float<T>(x);
    } else {
      return static_cast<T>(x);
    }
  }
  std::span<const T> row(std::int64_t r) const {
    const auto at = static_cast<std::size_t>(r);
    std::int64_t first = r * pitch, length = n;
    if (segments) {
      first = offsets[at];
      length = offsets[at + 1] - first;
    } else {
      const std::int64_t start = starts.empty() ? 0 : starts[at];
      first += start;
      length = lengths.empty() ? n - start : lengths[at];
    }
    return std::span(data).subspan(
        static_cast<std::size_t>(first),
        static_cast<std::size_t>(std::clamp<std::int64_t>(length, 0, n)));
  }

  std::mt19937& bits;
  std::int64_t n, q, k, pitch, fill;
  bool segments, nans;
  std::vector<T> data;
  std::vector<Number> lengths, starts, offsets, k_each;
  std::vector<std::int32_t> names;  // empty: elements have none
  bool named_of_input = false;
};

template <class T>
order_key_t<T> key_of(T x, const select_options& how) {
  return selection_key(x, how.direction, how.nan);
}

// The k best keys of a row, best first.
template <class T>
std::vector<order_key_t<T>> best_keys(std::span<const T> row, std::int64_t k,
                                      const select_options& how) {
  std::vector<order_key_t<T>> keys;
  for (const T x : row) keys.push_back(key_of(x, how));
  const auto count = std::min(keys.size(), static_cast<std::size_t>(k));
  std::partial_sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count), keys.end());
  keys.resize(count);
  return keys;
}

// Equal keys by ascending index, and no equal one left out that comes before.
template <class T, class Index>
bool is_stable(std::span<const T> row, const select_options& how,
               const std::vector<order_key_t<T>>& keys, const std::vector<Index>& indices) {
  for (std::size_t j = 1; j < keys.size(); ++j) {
    if (keys[j] == keys[j - 1] && indices[j] < indices[j - 1]) return false;
  }
  if (keys.empty()) return true;
  std::ptrdiff_t before = 0;
  for (Index i = 0; i <= indices.back(); ++i) {
    before += key_of(row[static_cast<std::size_t>(i)], how) == keys.back() ? 1 : 0;
  }
  return before == std::ranges::count(keys, keys.back());
}

// What is wrong with a row's answer, of which values or indices may be empty.
template <class T, class Index>
std::string wrong_row(std::span<const T> row, std::int64_t k, std::int64_t fill,
                      const select_options& how, std::span<const T> values,
                      std::span<const Index> indices) {
  const requirements& required = how.require;
  const auto expected = best_keys(row, k, how);
  std::vector<order_key_t<T>> keys;
  std::vector<Index> seen;
  for (std::size_t j = 0; j < std::max(values.size(), indices.size()); ++j) {
    if (j >= expected.size()) {
      if (!indices.empty() && indices[j] != static_cast<Index>(fill)) return "index of the fill";
      if (!values.empty() && bits_of(values[j]) != fill_bits<T>(how.direction))
        return "value of the fill";
      continue;
    }
    T value{};
    if (!indices.empty()) {
      if (indices[j] < 0 || indices[j] >= static_cast<Index>(row.size())) return "index range";
      seen.push_back(indices[j]);
      value = row[static_cast<std::size_t>(indices[j])];
      if (!values.empty() && bits_of(value) != bits_of(values[j])) return "value of the index";
    } else {
      value = values[j];
    }
    keys.push_back(key_of(value, how));
  }
  const bool stable = required.tie_break == tie_break::prefer_smaller_index;
  if (stable && !seen.empty() && !is_stable(row, how, keys, seen)) return "ties";
  std::ranges::sort(seen);
  if (std::ranges::adjacent_find(seen) != seen.end()) return "index twice";
  const bool ordered = stable || required.ordering != output_ordering::unsorted;
  if (ordered && !std::ranges::is_sorted(keys)) return "order";
  std::ranges::sort(keys);
  return keys == expected ? "" : "keys";
}

// Makes the names in a row's answer positions.
template <class T, class Index, class Number>
void unname(const random_rows<T, Number>& p, std::int64_t r, std::vector<Index>& indices) {
  if (p.names.empty() || indices.empty()) return;
  const std::int64_t count = std::min(p.wanted(r), static_cast<std::int64_t>(p.row(r).size()));
  for (std::int64_t j = 0; j < count; ++j) {
    Index& name = indices[static_cast<std::size_t>(r * p.k + j)];
    name = name % 3 == 1 ? static_cast<Index>((name - 1) / 3 - p.first_name(r)) : Index{-1};
  }
}

template <class T, class Number>
select_options random_options(random_rows<T, Number>& p) {
  select_options options;
  if (p.below(2) == 0) options.direction = direction::largest;
  constexpr std::array places = {nan_order::total_order, nan_order::last, nan_order::first};
  options.nan = places[static_cast<std::size_t>(p.below(3))];
  const std::int64_t order = p.below(6);
  if (order == 0) options.require.ordering = output_ordering::sorted;
  if (order == 1) options.require.tie_break = tie_break::prefer_smaller_index;
  return options;
}

// Selects from the rows, as segments or as a matrix, into values or indices or both.
template <class T, class Index, class Number>
status selected(const random_rows<T, Number>& p, const select_options& options, const place& where,
                std::vector<T>& values, std::vector<Index>& indices) {
  const auto run = [&](const auto& rows) {
    const std::size_t bytes = std::max(select_workspace<Index>(rows, p.k, where, options),
                                       select_indices_workspace<Index>(rows, p.k, where, options));
    std::vector<std::byte> memory(bytes);
    return select(rows, p.k, values, indices, memory, where, options);
  };
  const auto size = static_cast<std::int64_t>(p.data.size());
  const Number* const k_each = p.k_each.empty() ? nullptr : p.k_each.data();
  const index_map map = p.names.empty() ? index_map() : index_map(p.names.data(), p.named_of_input);
  if (p.segments) {
    return run(row_segments<T, Number>{.data = p.data.data(),
                                       .elements = size,
                                       .q = p.q,
                                       .n = p.n,
                                       .offsets = p.offsets.data(),
                                       .fill = p.fill,
                                       .k_each = k_each,
                                       .map = map});
  }
  return run(ragged_rows<T, Number>{.data = p.data.data(),
                                    .q = p.q,
                                    .n = p.n,
                                    .pitch = p.pitch,
                                    .lengths = p.lengths.empty() ? nullptr : p.lengths.data(),
                                    .starts = p.starts.empty() ? nullptr : p.starts.data(),
                                    .elements = size,
                                    .fill = p.fill,
                                    .k_each = k_each,
                                    .map = map});
}

// Row r of an answer of k a row; empty if there is no such answer.
template <class T>
std::span<const T> answer_of(const std::vector<T>& all, std::int64_t r, std::int64_t k) {
  if (all.empty()) return {};
  return std::span(all).subspan(static_cast<std::size_t>(r * k), static_cast<std::size_t>(k));
}

// Selects by random options and compares each row. Returns what is wrong.
template <class T, class Index, class Number>
std::string wrong_selection(std::mt19937& random, std::int64_t longest, const place& where) {
  random_rows<T, Number> p(random, longest);
  const select_options options = random_options(p);
  const std::int64_t payload = p.below(3);
  std::vector<T> values(payload == 0 ? 0 : static_cast<std::size_t>(p.q * p.k));
  std::vector<Index> indices(payload == 1 ? 0 : static_cast<std::size_t>(p.q * p.k));
  const status done = selected(p, options, where, values, indices);
  if (!done.ok()) return done.message;
  for (std::int64_t r = 0; r < p.q; ++r) {
    unname(p, r, indices);
    std::string wrong = wrong_row<T, Index>(p.row(r), p.wanted(r), p.fill, options,
                                            answer_of(values, r, p.k), answer_of(indices, r, p.k));
    if (!wrong.empty()) {
      return wrong + " in row " + std::to_string(r) + " of n = " + std::to_string(p.n) +
             ", k = " + std::to_string(p.k) + ", length " + std::to_string(p.row(r).size());
    }
  }
  return {};
}

// One of the types' combinations, in turn.
std::string wrong_problem(unsigned seed, std::int64_t longest, const place& where) {
  std::mt19937 random(seed);
  using half = float16;
  switch (seed % 6) {
    case 0:
      return wrong_selection<float, std::int32_t, std::int32_t>(random, longest, where);
    case 1:
      return wrong_selection<float, std::int64_t, std::int64_t>(random, longest, where);
    case 2:
      return wrong_selection<double, std::int32_t, std::int64_t>(random, longest, where);
    case 3:
      return wrong_selection<half, std::int64_t, std::int32_t>(random, longest, where);
    case 4:
      return wrong_selection<bfloat16, std::int32_t, std::int32_t>(random, longest, where);
    default:
      return wrong_selection<float, std::int32_t, std::int64_t>(random, longest, where);
  }
}

TEST(RaggedRows, AgreeWithASortOnTheCpu) {
  for (unsigned seed = 0; seed < 9000; ++seed) {
    ASSERT_EQ(wrong_problem(seed, seed % 50 == 0 ? 3000 : 90, place::cpu(1)), "")
        << "seed " << seed;
  }
}

TEST(RaggedRows, AgreeWithASortOnFibers) {
  const place fibers = detail::place_access::fibers();
  for (unsigned seed = 0; seed < 1000; ++seed) {
    ASSERT_EQ(wrong_problem(seed, seed % 20 == 0 ? 3000 : 60, fibers), "") << "seed " << seed;
  }
}

// The numbers are read when the call runs: a kept plan serves other lengths of the same bound.
TEST(RaggedRows, OfOtherLengthsShareAPlan) {
  std::vector<float> data(100);
  std::iota(data.begin(), data.end(), 0.0F);
  std::vector<std::int32_t> lengths = {50, 3};
  const ragged_rows<float> rows{.data = data.data(), .q = 2, .n = 50, .lengths = lengths.data()};
  const select_plan plan = plan_select<std::int32_t>(rows, 2, place::cpu(1));
  ASSERT_TRUE(plan) << plan.outcome().message;
  std::vector<std::byte> memory(plan.workspace());
  std::vector<float> values(4);
  std::vector<std::int32_t> indices(4);
  ASSERT_TRUE(select(plan, rows, values, indices, memory).ok());
  EXPECT_THAT(indices, testing::ElementsAre(0, 1, 0, 1));
  lengths = {0, 1};
  ASSERT_TRUE(select(plan, rows, values, indices, memory).ok());
  EXPECT_THAT(indices, testing::ElementsAre(-1, -1, 0, -1));
  const row_matrix<float> equal{.data = data.data(), .q = 2, .n = 50};
  EXPECT_EQ(select(plan, equal, values, indices, memory).code, status_code::invalid);
}

TEST(RaggedRows, OfWrongCallsSayWhatIsWrong) {
  std::vector<float> data(100), values(4);
  std::vector<std::int32_t> lengths = {50, 3}, indices(4);
  ragged_rows<float> rows{.data = data.data(), .q = 2, .n = 50, .lengths = lengths.data()};
  const auto message = [&](const ragged_rows<float>& r, std::int64_t k) {
    return select(r, k, values, indices).message;
  };
  EXPECT_EQ(message(rows, 2), "");
  EXPECT_EQ(message(rows, 0), "");
  EXPECT_THAT(message(rows, -1), HasSubstr("k = -1"));
  EXPECT_THAT(message(rows, 3), HasSubstr("values has 4"));
  rows.pitch = 40;
  EXPECT_THAT(message(rows, 2), HasSubstr("how many elements"));
  rows.pitch = 0;
  rows.fill = std::int64_t{1} << 40;
  EXPECT_THAT(message(rows, 2), HasSubstr("does not fit indices of 32 bits"));
  rows.fill = -1;
  const std::vector<std::int64_t> names(50);
  rows.map = names.data();
  EXPECT_THAT(message(rows, 2), HasSubstr("the map has numbers of 64 bits"));
  rows.map = static_cast<const std::int32_t*>(nullptr);
  EXPECT_THAT(message(rows, 2), HasSubstr("rows.map is null"));
  const row_segments<float, std::int32_t> none{
      .data = data.data(), .elements = 100, .q = 2, .n = 50, .offsets = nullptr};
  EXPECT_THAT(select(none, 2, values, indices).message, HasSubstr("rows.offsets is null"));
}

}  // namespace
}  // namespace kselect
