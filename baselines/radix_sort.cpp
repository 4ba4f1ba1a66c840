// A radix sort of each row, of which the first k are kept: what full_sort.cpp is by comparisons, as
// fast as we know how to make it.
//
// Least significant digit first (Knuth, The Art of Computer Programming 3, 5.2.5), on the key
// alone: the sort is stable and reads the row in the order of its indices, so ties come by
// ascending index without their bits being sorted. One pass over the row counts all digits at once;
// then a read and a write of every element for each digit that is not the same in all of them,
// whatever k is.
//
// Ours: the first pass reads the row itself, so nothing is copied; digits of 11 bits, a pass
// in four less, from 2^13 to 2^17 elements, else of 8: below, the counts of 2^11 places cost more
// than a pass, and above, so many places to write to cost more than that in the translation buffer;
// rows of at most 64 are sorted by std::sort, which then costs less than the counts.

#include "baselines/cpu_rows.hpp"

namespace kselect::entries {
namespace {

struct radix_sort_of_row {
  static std::int64_t scratch(std::int64_t n, std::int64_t) { return 2 * n; }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t, Candidate* sorted) {
    const std::int64_t n = row.size();
    if (n <= 64) {
      baselines::copy_row(row, sorted);
      std::sort(sorted, sorted + n);
    } else if (n < 1 << 13 || n > 1 << 17) {
      sort<8>(row, sorted);
    } else {
      sort<11>(row, sorted);
    }
  }

 private:
  // Leaves the sorted row in the first half of `sorted`.
  template <int bits, class Row, class Candidate>
  static void sort(const Row& row, Candidate* sorted) {
    using key_type = decltype(Row::key(Candidate{}));
    constexpr int digits = (8 * sizeof(key_type) + bits - 1) / bits;
    const std::int64_t n = row.size();
    std::uint32_t places[digits][1 << bits] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      const key_type key = row.key_at(i);
      for (int d = 0; d < digits; ++d) ++places[d][digit<bits>(key, d)];
    }
    bool needed[digits];
    for (int d = 0; d < digits; ++d) needed[d] = to_places(places[d], n);
    // So that the last pass writes to the first half.
    const bool odd = std::count(needed, needed + digits, true) % 2 != 0;
    Candidate* to = odd ? sorted : sorted + n;
    const Candidate* from = nullptr;
    for (int d = 0; d < digits; ++d) {
      if (!needed[d]) continue;
      if (from == nullptr) {
        scatter(row, n, to, [&](Candidate c) { return places[d][digit<bits>(Row::key(c), d)]++; });
      } else {
        scatter(from, n, to, [&](Candidate c) { return places[d][digit<bits>(Row::key(c), d)]++; });
      }
      from = to;
      to = to == sorted ? sorted + n : sorted;
    }
    if (from == nullptr) baselines::copy_row(row, sorted);  // all keys are equal
  }

  template <int bits, class Key>
  static std::size_t digit(Key key, int number) {
    return static_cast<std::size_t>(key >> (number * bits)) % (std::size_t{1} << bits);
  }

  template <class From, class Candidate, class Place>
  static void scatter(const From& from, std::int64_t n, Candidate* to, const Place& place) {
    for (std::int64_t i = 0; i < n; ++i) {
      const Candidate c = from[i];
      to[place(c)] = c;
    }
  }

  // Counts become the places of each digit's first element; false if all have the same digit.
  template <std::size_t bins>
  static bool to_places(std::uint32_t (&counts)[bins], std::int64_t n) {
    std::uint32_t sum = 0;
    for (std::uint32_t& place : counts) {
      const std::uint32_t count = place;
      if (count == n) return false;
      place = sum;
      sum += count;
    }
    return true;
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
