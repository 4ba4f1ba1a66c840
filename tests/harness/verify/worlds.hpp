#pragma once
// Small worlds, exhaustively: every row over a small alphabet, every k, every possible answer. A
// verifier must accept exactly the answers that the definition calls right: no element left out is
// better than a chosen one.
//
// Many rows are judged at a time: right answers form one batch, of which none may be rejected;
// wrong answers form another, of which none may be accepted.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "judges.hpp"

namespace kselect::harness::testing_worlds {

using testing_answers::judge;
using testing_answers::judgement;

// A letter is its own rank in the total order.
inline constexpr std::array<float, 6> alphabet = {
    -std::numeric_limits<float>::infinity(), -1.0F, -0.0F, +0.0F, 1.0F,
    std::numeric_limits<float>::quiet_NaN()};
inline constexpr int minus_zero = 2;
inline constexpr int plus_zero = 3;
using numbers = std::vector<int>;

// Calls f(numbers) for every word of that length over the letters.
template <class F>
void for_each_word(const numbers& letters, std::size_t length, F&& f) {
  numbers digits(length, 0);
  numbers text(length);
  for (bool more = true; more;) {
    for (std::size_t j = 0; j < length; ++j) text[j] = letters[static_cast<std::size_t>(digits[j])];
    f(text);
    more = false;
    for (std::size_t j = 0; j < length && !more; ++j) {
      more = ++digits[j] < static_cast<int>(letters.size());
      if (!more) digits[j] = 0;
    }
  }
}

struct world {
  std::string name;
  int longest;
  numbers letters;
  output_ordering ordering = output_ordering::unsorted;
  kselect::tie_break ties = tie_break::unspecified;
  zero_policy zeros = zero_policy::distinct;
  kselect::direction wanted = direction::smallest;
  kselect::layout lies = layout::row_major;
  dtype type = dtype::float32;
};

// The definition of a right answer.
class definition {
 public:
  explicit definition(world in) : in_(std::move(in)) {}

  // The same world without the promises that only indices can show (certificate.hpp).
  static definition without_indices(world in) {
    in.ties = tie_break::unspecified;
    if (in.ordering == output_ordering::stable_sorted) in.ordering = output_ordering::sorted;
    return definition(std::move(in));
  }

  bool better(int a, int b) const { return rank(a) < rank(b); }

  // Whether the indices are a right answer for the row, in this order.
  bool right(const numbers& row, const numbers& indices) const {
    const int n = static_cast<int>(row.size());
    std::vector<bool> chosen(row.size(), false);
    for (const int i : indices) {
      if (i < 0 || i >= n || chosen[static_cast<std::size_t>(i)]) return false;
      chosen[static_cast<std::size_t>(i)] = true;
    }
    for (int in = 0; in < n; ++in) {
      for (int out = 0; out < n; ++out) {
        if (!chosen[static_cast<std::size_t>(in)] || chosen[static_cast<std::size_t>(out)])
          continue;
        if (better(at(row, out), at(row, in))) return false;
        const bool tie = !better(at(row, in), at(row, out));
        if (in_.ties == tie_break::prefer_smaller_index && tie && out < in) return false;
      }
    }
    return in_.ordering == output_ordering::unsorted || in_order(row, indices);
  }

  // All sequences of values of right answers.
  std::set<numbers> right_values(const numbers& row, std::size_t k) const {
    numbers columns(row.size());
    for (std::size_t j = 0; j < columns.size(); ++j) columns[j] = static_cast<int>(j);
    std::set<numbers> found;
    for_each_word(columns, k, [&](const numbers& indices) {
      if (!right(row, indices)) return;
      numbers letters;
      for (const int i : indices) letters.push_back(at(row, i));
      found.insert(letters);
    });
    return found;
  }

  bool right_kth(const numbers& row, std::size_t k, int letter) const {
    numbers ordered = row;
    std::sort(ordered.begin(), ordered.end(), [this](int a, int b) { return better(a, b); });
    return rank(ordered[k - 1]) == rank(letter) &&
           std::find(row.begin(), row.end(), letter) != row.end();
  }

 private:
  static int at(const numbers& row, int i) { return row[static_cast<std::size_t>(i)]; }

  int rank(int letter) const {
    if (in_.zeros == zero_policy::merged && letter == minus_zero) letter = plus_zero;
    return in_.wanted == direction::smallest ? letter : -letter;
  }

  bool in_order(const numbers& row, const numbers& indices) const {
    for (std::size_t j = 1; j < indices.size(); ++j) {
      const int before = indices[j - 1];
      const int here = indices[j];
      if (better(at(row, here), at(row, before))) return false;
      const bool tie = !better(at(row, before), at(row, here));
      if (in_.ordering == output_ordering::stable_sorted && tie && here < before) return false;
    }
    return true;
  }

  world in_;
};

// Answers that must all be accepted, or all be rejected.
class batch {
 public:
  batch(const world& in, payload asked, std::int64_t n, std::int64_t k, bool right, judge by)
      : right_(right), by_(std::move(by)) {
    promises_.ordering = in.ordering;
    promises_.tie_break = in.ties;
    promises_.zeros = in.zeros;
    what_.n = n;
    what_.k = k;
    what_.direction = in.wanted;
    what_.layout = in.lies;
    what_.payload = asked;
    what_.type = in.type;
  }
  ~batch() { flush(); }
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;

  void add(const numbers& row, const numbers& values, const numbers& indices) {
    for (const int letter : row) input_.push_back(alphabet[static_cast<std::size_t>(letter)]);
    for (const int letter : values) values_.push_back(alphabet[static_cast<std::size_t>(letter)]);
    indices_.insert(indices_.end(), indices.begin(), indices.end());
    ++total_;
    if (++what_.q == capacity) flush();
  }
  std::int64_t total() const { return total_; }

 private:
  static constexpr std::int64_t capacity = 1 << 12;

  void flush() {
    if (what_.layout == layout::column_major) input_ = transposed();
    if (what_.q == 0) return;
    const judgement found = visit_number(what_.type, [&]<class T>(T) {
      auto input = numbers<T>(input_), values = numbers<T>(values_);
      return by_(what_, promises_, {input.data(), values.data(), indices_.data()});
    });
    EXPECT_EQ(found.rows_wrong, right_ ? 0 : what_.q)
        << to_string(what_) << (right_ ? "\n" + found.detail : "");
    input_.clear();
    values_.clear();
    indices_.clear();
    what_.q = 0;
  }

  template <class T>
  static std::vector<T> numbers(const std::vector<float>& of) {
    std::vector<T> converted(of.size());
    std::transform(of.begin(), of.end(), converted.begin(), from_float<T>);
    return converted;
  }

  std::vector<float> transposed() const {
    std::vector<float> columns(input_.size());
    for (std::int64_t r = 0; r < what_.q; ++r) {
      for (std::int64_t c = 0; c < what_.n; ++c) {
        columns[static_cast<std::size_t>(what_.offset(r, c))] =
            input_[static_cast<std::size_t>(r * what_.n + c)];
      }
    }
    return columns;
  }

  bool right_;
  judge by_;
  problem what_;
  contract promises_;
  std::int64_t total_ = 0;
  std::vector<float> input_;
  std::vector<float> values_;
  std::vector<std::int32_t> indices_;
};

// Everything that a verifier must accept and reject.
class exhaustion {
 public:
  exhaustion(world in, judge by) : in_(std::move(in)), by_(std::move(by)), truth_(in_) {}

  // Every tuple of indices from -1 to n, with the values at these indices.
  void expect_exactly_the_right_indices() {
    const std::int64_t answers =
        for_each_row(payload::values_and_indices,
                     [&](const numbers& row, std::size_t k, batch& right, batch& wrong) {
                       const int n = static_cast<int>(row.size());
                       numbers candidates;
                       for (int i = -1; i <= n; ++i) candidates.push_back(i);
                       numbers values(k);
                       for_each_word(candidates, k, [&](const numbers& indices) {
                         for (std::size_t j = 0; j < k; ++j) {
                           const int i = std::clamp(indices[j], 0, n - 1);
                           values[j] = row[static_cast<std::size_t>(i)];
                         }
                         (truth_.right(row, indices) ? right : wrong).add(row, values, indices);
                       });
                     });
    EXPECT_EQ(answers, expected_answers([](int n) { return n + 2; }));
  }

  // Every tuple of letters, for every row.
  void expect_exactly_the_right_values() {
    const auto truth = definition::without_indices(in_);
    const std::int64_t answers = for_each_row(
        payload::values, [&](const numbers& row, std::size_t k, batch& right, batch& wrong) {
          const std::set<numbers> accepted = truth.right_values(row, k);
          for_each_word(in_.letters, k, [&](const numbers& values) {
            (accepted.contains(values) ? right : wrong).add(row, values, {});
          });
        });
    const auto letters = static_cast<int>(in_.letters.size());
    EXPECT_EQ(answers, expected_answers([=](int) { return letters; }));
  }

  void expect_exactly_the_right_kth_values() {
    for_each_row(payload::kth_value,
                 [&](const numbers& row, std::size_t k, batch& right, batch& wrong) {
                   for (const int letter : in_.letters) {
                     (truth_.right_kth(row, k, letter) ? right : wrong).add(row, {letter}, {});
                   }
                 });
  }

  // Every right tuple of indices with one value replaced by another letter.
  void expect_no_value_but_that_at_its_index() {
    world in = in_;
    in.longest = 3;
    for (int n = 1; n <= in.longest; ++n) {
      for (std::size_t k = 1; k <= static_cast<std::size_t>(n); ++k) {
        batch wrong(in, payload::values_and_indices, n, static_cast<std::int64_t>(k), false, by_);
        numbers columns;
        for (int i = 0; i < n; ++i) columns.push_back(i);
        for_each_word(in.letters, static_cast<std::size_t>(n), [&](const numbers& row) {
          for_each_word(columns, k, [&](const numbers& indices) {
            if (!truth_.right(row, indices)) return;
            numbers values;
            for (const int i : indices) values.push_back(row[static_cast<std::size_t>(i)]);
            for (int& value : values) {
              const int there = value;
              for (const int letter : in.letters) {
                value = letter;
                if (letter != there) wrong.add(row, values, indices);
              }
              value = there;
            }
          });
        });
        EXPECT_GT(wrong.total(), 0);
      }
    }
  }

 private:
  // Calls f(row, k, right, wrong) for every row and k of the world; returns the number of answers.
  template <class F>
  std::int64_t for_each_row(payload asked, F&& f) {
    std::int64_t answers = 0;
    for (int n = 1; n <= in_.longest; ++n) {
      for (int k = 1; k <= n; ++k) {
        batch right(in_, asked, n, k, true, by_);
        batch wrong(in_, asked, n, k, false, by_);
        for_each_word(in_.letters, static_cast<std::size_t>(n), [&](const numbers& row) {
          f(row, static_cast<std::size_t>(k), right, wrong);
        });
        EXPECT_GT(right.total(), 0);
        EXPECT_GT(wrong.total(), 0);
        answers += right.total() + wrong.total();
      }
    }
    return answers;
  }

  // The sum over n and k of letters^n * choices(n)^k.
  template <class Choices>
  std::int64_t expected_answers(Choices&& choices) {
    std::int64_t sum = 0;
    std::int64_t inputs = 1;
    for (int n = 1; n <= in_.longest; ++n) {
      inputs *= static_cast<std::int64_t>(in_.letters.size());
      std::int64_t answers = 1;
      for (int k = 1; k <= n; ++k) sum += inputs * (answers *= choices(n));
    }
    return sum;
  }

  world in_;
  judge by_;
  definition truth_;
};

inline const numbers all_letters = {0, 1, 2, 3, 4, 5};
inline const numbers one_of_each_kind = {0, minus_zero, plus_zero, 5};
inline const numbers zeros_and_one = {minus_zero, plus_zero, 4};
inline const numbers zeros_and_nan = {minus_zero, plus_zero, 5};

}  // namespace kselect::harness::testing_worlds
