// A radix sort of each row, whose first k are kept: the fastest full sort that we know how to
// write.
//
// Least significant digit first (Knuth, The Art of Computer Programming 3, 5.2.5), on the key
// alone. The sort is stable and reads the row in the order of indices, so ties come by ascending
// index although indices are not sorted. Cost: one read and one write of every element for each
// digit, for any k.
//
// Our tuning: digits are taken of the key's distance from the row's least key, which is seldom as
// wide as a key (uniform floats differ in 28 bits of 32). Digits are as narrow as their number
// allows, at most 11 bits: writing to more places costs more in TLB misses than another pass. The
// first pass reads the row itself, so nothing is copied, and each pass counts the next one's
// digits. Rows of at most 64 elements are sorted by std::sort, which then takes less time than the
// counts.
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
    digit_counts counts[2];  // of this pass and of the next, in turn
    clear(counts[0], by.bits);
    for (std::int64_t i = 0; i < n; ++i) ++counts[0][by(row.key_at(i))];
    // Chosen so that the last pass writes to the first half.
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

  // Moves each candidate to the place of its digit. If `next` is not null, counts the next digits.
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

  // Turns counts into the place of each digit's first element (an exclusive scan).
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
