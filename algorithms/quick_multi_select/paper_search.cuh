#pragma once
// Quick multi-select in the paper's form: the search for a row's K nearest, as Algorithm 1 has it
// (Komarov et al. 2014, Methods). The decisions are one function. The host calls it in qms-host,
// and the row's team in qms-warp and qms-block.

#include "algorithms/quick_multi_select/team.cuh"

namespace kselect::qms_paper {

// What today's form has from the paper, too: references into the input and the auxiliary arrays.
using qms::array;
using qms::element;
using qms::other;
using qms::position;
using qms::reference;

// Where the search stands between two partitions.
template <class Key>
struct search {
  reference active;    // the part that is to be partitioned next
  position wanted;     // K: how many of its elements are wanted
  position iteration;  // of Algorithm 1's while loop
  Key pivot;           // of the last partition
  bool ties_next;      // no element was below that pivot
  bool all_equal;      // the active elements are equal
};

template <class Key>
KSELECT_HD constexpr search<Key> start_of_search(position n, position k) {
  return {{0, n, array::input}, k, 0, Key{0}, false, false};
}

// Whether the first K active elements are the rest of the answer.
template <class Key>
KSELECT_HD constexpr bool found(const search<Key>& s) {
  return s.wanted == s.active.size() || s.all_equal;
}

// The if-then-else of Algorithm 1, after a partition with `less` elements (L) below the pivot. If
// K <= L, only the left side is processed further. If K > L, the left side is kept as it is, and
// K - L elements are searched for in the right side. Returns the reference to the side that is
// kept, which may be empty.
template <class Key>
KSELECT_HD constexpr reference decide(search<Key>& s, Key pivot, position less) {
  const array to = other(s.active.where);
  const reference left{s.active.begin, s.active.begin + less, to};
  const reference right{left.end, s.active.end, to};
  const bool were_ties = s.ties_next;
  s.pivot = pivot;
  ++s.iteration;
  s.ties_next = less == 0;
  if (s.wanted <= less) {
    s.active = left;
    s.all_equal = were_ties;
    return {0, 0, to};
  }
  s.active = right;
  s.wanted -= less;
  s.all_equal = less == 0 && pivot == static_cast<Key>(~Key{0});  // no key is above the pivot
  return left;
}

// A random place in the active part. Every thread and every machine draws the same one:
// splitmix64's finaliser of row and iteration.
template <class Key>
KSELECT_HD position random_place(const search<Key>& s, std::int64_t row) {
  std::uint64_t x = static_cast<std::uint64_t>(row) << 32 ^ s.iteration;
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  const auto high = static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
  return s.active.begin + static_cast<position>(std::uint64_t{high} * s.active.size() >> 32);
}

}  // namespace kselect::qms_paper
