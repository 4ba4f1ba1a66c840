#pragma once
// Quick multi-select: the state of a row between two rounds, and Algorithm 1's decision. The same
// functions run on the device (qms-warp, qms-block) and on the host (qms-host).

#include <cstdint>

#include "kernels/position.hpp"
#include "kselect/hd.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::qms {

using kernels::position;

// How a pivot is chosen, and what is left out around it. One value, because a second argument of
// the kernels would cost a register.
enum class pivot_rule : std::uint8_t {
  random,           // a random element
  random_unranked,  // the same, and a small rest is partitioned further instead of being ranked
  median_of_3,      // of the first, the middle and the last element
  sample,           // the element of a random sample whose rank suits k (Floyd & Rivest 1975)
  sample_both       // the same, but the right side is always written
};

// After this many rounds pivots halve the range of the keys (pivot.cuh). The rest then takes as
// many rounds as a key has bits.
inline constexpr int free_rounds = 24;

// Limits of the sample for a pivot: within them, one element a thread. Ranking a sample costs the
// square of its size.
inline constexpr int least_samples = 64;
inline constexpr int most_samples = 128;
// The most elements of a sample, or of a ranked rest, that one thread has.
inline constexpr int most_own = least_samples / simt::warp_size;

// A run of elements: [begin, end) of the row's input or of one of its auxiliary arrays.
enum class array : std::uint32_t { input, auxiliary_0, auxiliary_1 };
struct reference {
  position begin, end;
  array where;

  KSELECT_HD constexpr position size() const { return end - begin; }
};

// A round pushes one reference, or none if no element is below its pivot. After the free rounds, at
// most as many rounds push one as a key has bits.
template <class Key>
inline constexpr int stack_capacity = free_rounds + 8 * static_cast<int>(sizeof(Key)) + 2;

// The part of a row still to be partitioned, and how many of its elements are wanted.
template <class Key>
struct state {
  reference active;
  position wanted;
  Key low, high;  // every active key lies in [low, high]
  int round;
  bool found_minimum;  // the last pivot was the least active key: split off its ties next
};

template <class Key>
KSELECT_HD constexpr state<Key> initial_state(position n, position k) {
  return {{0, n, array::input}, k, Key{0}, static_cast<Key>(~Key{0}), 0, false};
}

// The array that a partition writes. The input is never written, so the first writes auxiliary_0.
KSELECT_HD constexpr array other(array where) {
  return where == array::auxiliary_0 ? array::auxiliary_1 : array::auxiliary_0;
}

// Whether no further partition is needed: the rest is wanted as a whole, or is one value, or is
// small enough for a team of `threads` to rank.
template <class Key>
KSELECT_HD constexpr bool settled(const state<Key>& s, int threads, pivot_rule rule) {
  const int ranked_at_once = threads < least_samples ? least_samples : threads;
  return s.wanted == s.active.size() || s.low == s.high ||
         (rule != pivot_rule::random_unranked &&
          s.active.size() <= static_cast<position>(ranked_at_once));
}

// Whether a pivot can be chosen that almost surely has all wanted elements on its left.
template <class Key>
KSELECT_HD constexpr bool few_wanted(const state<Key>& s) {
  return s.wanted <= s.active.size() / 4;
}

// Algorithm 1's decision after a partition with `left` elements below the pivot. If these include
// all wanted ones, the search goes on there. Otherwise the left side is kept in place, as the
// returned reference (else empty), and the search for the others goes on in the right side.
template <class Key>
KSELECT_HD constexpr reference decide(state<Key>& s, Key pivot, position left) {
  const array to = other(s.active.where);
  const reference left_side{s.active.begin, s.active.begin + left, to};
  ++s.round;
  s.found_minimum = left == 0;
  if (s.wanted <= left) {
    s.active = left_side;
    s.high = pivot - 1;
    return {0, 0, to};
  }
  s.active = {left_side.end, s.active.end, to};
  s.wanted -= left;
  s.low = pivot;
  return left_side;
}

}  // namespace kselect::qms
