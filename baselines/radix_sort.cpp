// A radix sort of each row, of which the first k are kept: what full_sort.cpp is by comparisons, as
// fast as we know how to make it.
//
// Least significant digit first (Knuth, The Art of Computer Programming 3, 5.2.5), on the key
// alone: the sort is stable and reads the row in the order of its indices, so ties come by
// ascending index without their bits being sorted. A read and a write of every element a digit,
// whatever k is.
//
// Ours: digits are of the key's distance from the row's least one, which is seldom as wide as a key
// (uniform floats differ in 28 bits of 32), and as narrow as their number allows; the first pass
// reads the row itself, so nothing is copied, and each pass counts the next one's digits. Digits
// are of 11 bits at most: more places to write to cost more in the translation buffer than a pass.
// Rows of at most 64 are sorted by std::sort, which then costs less than the counts.
//
// Entries: cpu/radix_sort

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "baselines/cpu_rows.hpp"

namespace kselect::entries {
namespace {

struct radix_sort_of_row {
  static std::int64_t scratch(std::int64_t n, std::int64_t) { return 2 * n; }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t, Candidate* sorted) {
    if (row.size() <= 64) {
      baselines::copy_row(row, sorted);
      std::sort(sorted, sorted + row.size());
    } else {
      sort(row, sorted);
    }
  }

 private:
  static constexpr int most_bits = 11;
  using digit_counts = std::array<std::uint32_t, 1 << most_bits>;

  // A digit of a key: `bits` of its distance from `low`, from bit `shift` on.
  template <class Key>
  struct digit {
    Key low;
    int shift, bits;
    std::size_t operator()(Key key) const {
      return static_cast<std::size_t>(static_cast<Key>(key - low) >> shift) %
             (std::size_t{1} << bits);
    }
    digit next() const { return {low, shift + bits, bits}; }
  };

  // Leaves the sorted row in the first half of `sorted`.
  template <class Row, class Candidate>
  static void sort(const Row& row, Candidate* sorted) {
    const std::int64_t n = row.size();
    auto low = row.key_at(0), high = low;
    for (std::int64_t i = 1; i < n; ++i) {
      low = std::min(low, row.key_at(i));
      high = std::max(high, row.key_at(i));
    }
    const auto width = static_cast<int>(std::bit_width(static_cast<decltype(low)>(high - low)));
    const int passes = std::max(1, (width + most_bits - 1) / most_bits);
    digit<decltype(low)> by{low, 0, std::max(1, (width + passes - 1) / passes)};
    digit_counts counts[2];  // in turns of the pass at hand and of the next
    clear(counts[0], by.bits);
    for (std::int64_t i = 0; i < n; ++i) ++counts[0][by(row.key_at(i))];
    // So that the last pass writes to the first half.
    Candidate* to = passes % 2 != 0 ? sorted : sorted + n;
    const Candidate* from = nullptr;
    for (int pass = 0; pass < passes; ++pass) {
      digit_counts& places = counts[pass % 2];
      digit_counts* const next = pass + 1 < passes ? &counts[(pass + 1) % 2] : nullptr;
      to_places(places, by.bits);
      if (pass == 0) {
        move<Row>(row, n, by, places, next, to);
      } else {
        move<Row>(from, n, by, places, next, to);
      }
      by = by.next();
      from = to;
      to = to == sorted ? sorted + n : sorted;
    }
  }

  // Moves each candidate to the place of its digit, and counts the digits after those, if asked to.
  template <class Row, class From, class Digit, class Candidate>
  static void move(const From& from, std::int64_t n, Digit by, digit_counts& places,
                   digit_counts* next, Candidate* to) {
    if (next == nullptr) {
      scatter(from, n, to, [&](Candidate c) { return places[by(Row::key(c))]++; });
    } else {
      clear(*next, by.bits);
      scatter(from, n, to, [&](Candidate c) {
        const auto key = Row::key(c);
        ++(*next)[by.next()(key)];
        return places[by(key)]++;
      });
    }
  }

  template <class From, class Candidate, class Place>
  static void scatter(const From& from, std::int64_t n, Candidate* to, const Place& place) {
    for (std::int64_t i = 0; i < n; ++i) {
      const Candidate c = from[i];
      to[place(c)] = c;
    }
  }

  static void clear(digit_counts& counts, int bits) {
    std::fill_n(counts.begin(), std::size_t{1} << bits, 0);
  }

  // Counts become the places of each digit's first element.
  static void to_places(digit_counts& counts, int bits) {
    std::uint32_t sum = 0;
    for (std::size_t d = 0; d < std::size_t{1} << bits; ++d) sum += std::exchange(counts[d], sum);
  }
};

constexpr std::string_view source = "ours; Knuth 1973, 5.2.5";
constexpr std::array variants = {
    baselines::cpu_entry<radix_sort_of_row, false>("cpu/radix_sort", "sort", source,
                                                   output_ordering::stable_sorted),
    baselines::cpu_entry<radix_sort_of_row, true>("cpu/radix_sort+omp", "sort", source,
                                                  output_ordering::stable_sorted),
};

}  // namespace

std::span<const algorithm> radix_sort() { return variants; }

}  // namespace kselect::entries
