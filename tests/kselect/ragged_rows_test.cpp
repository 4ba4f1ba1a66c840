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
#include "tests/kselect/random_rows.hpp"

namespace kselect {
namespace {

using testing::HasSubstr;

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

// Makes the names in a row's answer positions among the elements that may be selected.
template <class T, class Index, class Number>
void unname(const random_rows<T, Number>& p, std::int64_t r,
            const std::vector<std::int64_t>& places, std::vector<Index>& indices) {
  if (indices.empty()) return;
  const std::int64_t count = std::min(p.wanted(r), static_cast<std::int64_t>(places.size()));
  for (std::int64_t j = 0; j < count; ++j) {
    Index& name = indices[static_cast<std::size_t>(r * p.k + j)];
    if (!p.names.empty()) {
      name = name % 3 == 1 ? static_cast<Index>((name - 1) / 3 - p.first_name(r)) : Index{-1};
    }
    const auto found = std::ranges::lower_bound(places, std::int64_t{name});
    const bool admitted = found != places.end() && *found == name;
    name = admitted ? static_cast<Index>(found - places.begin()) : Index{-1};
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
  const element_mask mask{p.mask.empty() ? nullptr : p.mask.data(), p.mask_pitch};
  if (p.segments) {
    return run(row_segments<T, Number>{.data = p.data.data(),
                                       .elements = size,
                                       .q = p.q,
                                       .n = p.n,
                                       .offsets = p.offsets.data(),
                                       .fill = p.fill,
                                       .k_each = k_each,
                                       .map = map,
                                       .mask = mask});
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
                                    .map = map,
                                    .mask = mask});
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
    const auto places = p.admitted(r);
    std::vector<T> row;
    for (const std::int64_t j : places) row.push_back(p.row(r)[static_cast<std::size_t>(j)]);
    unname(p, r, places, indices);
    std::string wrong = wrong_row<T, Index>(row, p.wanted(r), p.fill, options,
                                            answer_of(values, r, p.k), answer_of(indices, r, p.k));
    if (!wrong.empty()) {
      return wrong + " in row " + std::to_string(r) + " of n = " + std::to_string(p.n) +
             ", k = " + std::to_string(p.k) + ", length " + std::to_string(p.row(r).size()) +
             (p.mask.empty() ? "" : ", masked");
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

// More rows than are gathered at a time, and rows that several blocks gather.
TEST(RaggedRows, UnderAMaskAreGatheredInParts) {
  std::mt19937 random(7);
  for (const auto& [q, n] : {std::pair<std::int64_t, std::int64_t>{1500, 400}, {2, 40000}}) {
    std::vector<float> data(static_cast<std::size_t>(q * n));
    for (float& x : data) x = static_cast<float>(random() % 100'000);
    const std::int64_t pitch = (n + 31) / 32;
    std::vector<std::uint32_t> mask(static_cast<std::size_t>(q * pitch));
    for (auto& word : mask) word = static_cast<std::uint32_t>(random() & random());
    const ragged_rows<float> rows{
        .data = data.data(), .q = q, .n = n, .mask = {mask.data(), pitch}};
    constexpr std::int64_t k = 20;
    for (const place& where : {place::cpu(2), detail::place_access::fibers()}) {
      std::vector<float> values(static_cast<std::size_t>(q * k));
      std::vector<std::int32_t> indices(values.size());
      std::vector<std::byte> memory(select_workspace<std::int32_t>(rows, k, where));
      ASSERT_TRUE(select(rows, k, values, indices, memory, where).ok());
      for (std::int64_t r = 0; r < q; ++r) {
        std::vector<float> left;
        for (std::int64_t j = 0; j < n; ++j) {
          const auto word = static_cast<std::size_t>(r * pitch + j / 32);
          if ((mask[word] >> j % 32 & 1U) != 0)
            left.push_back(data[static_cast<std::size_t>(r * n + j)]);
        }
        std::ranges::sort(left);
        auto found = std::span(values).subspan(static_cast<std::size_t>(r * k), k);
        std::ranges::sort(found);
        ASSERT_TRUE(std::ranges::equal(found, std::span(left).first(k))) << "row " << r;
      }
    }
  }
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
  rows.map = {};
  const std::vector<std::uint32_t> mask(2 * 1);
  rows.mask = {mask.data(), 1};
  EXPECT_THAT(message(rows, 2), HasSubstr("rows of n = 50 need at least 2"));
  const row_segments<float, std::int32_t> parts{.data = data.data(),
                                                .elements = 100,
                                                .q = 2,
                                                .n = 50,
                                                .offsets = lengths.data(),
                                                .mask = {mask.data(), 1}};
  EXPECT_THAT(select(parts, 2, values, indices).message, HasSubstr("segments take one mask"));
  const row_segments<float, std::int32_t> none{
      .data = data.data(), .elements = 100, .q = 2, .n = 50, .offsets = nullptr};
  EXPECT_THAT(select(none, 2, values, indices).message, HasSubstr("rows.offsets is null"));
}

}  // namespace
}  // namespace kselect
