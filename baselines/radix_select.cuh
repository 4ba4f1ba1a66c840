#pragma once
// Radix select, the device side: rows are narrowed digit by digit, most significant first.
// radix_select.cu explains it and has the batched entries, alabi_radix_select.cu the one-row form.
//
// A row's state is a range of keys [low, high] that holds the k-th. A *pass* walks over the row, or
// over the candidates kept from it. It writes keys below `low` to the answer, counts the next digit
// of the keys in range, and keeps these keys if they are few enough. The counts give the digit of
// the k-th key and so the next range.

#include "kernels/bin_counts.cuh"
#include "kernels/gpu_rows.cuh"

namespace kselect::radix {

using kernels::answer;
using kernels::answer_view;
using kernels::bin_storage;
using kernels::clear_bins;
using kernels::find_bin;
using kernels::position;
using kernels::rows_view;

template <class Key>
inline constexpr int key_bits = 8 * static_cast<int>(sizeof(Key));

// The passes that fix all bits of a key, `bits` at a time.
template <class Key, int bits>
inline constexpr int pass_count = (key_bits<Key> + bits - 1) / bits;

template <class Key>
struct state {
  Key low, high;      // the k-th key lies in [low, high]
  Key written;        // keys below it are already in the answer
  position wanted;    // elements wanted of those in range
  position count;     // elements in range
  position buffered;  // candidates kept; 0: the row itself is the source
  std::uint32_t finished;
};

template <class Key>
KSELECT_HD constexpr state<Key> initial_state(position n, position k) {
  return {Key{0}, static_cast<Key>(~Key{0}), Key{0}, k, n, 0, 0};
}

// Whether no further digit is needed: all elements in range are wanted, or all have the same key.
// Only in the second case is the k-th key itself known.
template <answer what, class Key>
KSELECT_HD constexpr bool settled(const state<Key>& s) {
  return s.low == s.high || (what != answer::kth && s.count == s.wanted);
}

template <class Key>
KSELECT_HD constexpr bool keeps(const state<Key>& s, position capacity) {
  return s.buffered == 0 && s.count <= capacity;
}

// The lowest bit of digit number `pass`.
template <class Key, int bits>
KSELECT_HD constexpr int shift_of(int pass) {
  const int shift = key_bits<Key> - bits * (pass + 1);
  return shift < 0 ? 0 : shift;
}

// ---- a pass

// The state after pass number `pass`, whose counts find_bin has searched.
template <int bits, class Key>
KSELECT_HD state<Key> advanced(const state<Key>& s, const bin_storage<bits>& found, int pass,
                               position capacity) {
  const int shift = shift_of<Key, bits>(pass);
  state<Key> next = s;
  next.low = s.low + (static_cast<Key>(found.bin) << shift);
  next.high = next.low + ((Key{1} << shift) - 1);
  next.written = s.low;
  next.wanted = s.wanted - found.before;
  next.count = found.count;
  if (keeps(s, capacity)) next.buffered = s.count;
  return next;
}

// One pass over a row. `Sink` has the counters and the buffer of the block or grid form:
//   position next_written(), next_tied(), next_kept()   read and advance a counter
//   void keep(place, key, at)                           stores a candidate in the buffer
//   key_at(i), position_at(i)                           read it
template <class T, int bits, answer what, class Simt, class Sink>
class pass_over {
 public:
  using key = order_key_t<T>;

  KSELECT_HD pass_over(Simt& simt, bin_storage<bits>& digits, Sink& sink, const rows_view<T>& m,
                       const answer_view<T>& out, std::int64_t row, position capacity)
      : simt_(simt),
        digits_(digits),
        sink_(sink),
        m_(m),
        out_(out),
        row_(row),
        capacity_(capacity) {}

  // The caller's share of the pass; it is number `index` of `stride` threads.
  KSELECT_HD void run(const state<key>& s, int pass, position index, position stride) {
    if (settled<what>(s)) {
      if constexpr (what == answer::kth) {
        if (index == 0) {
          simt_.store(out_.values, row_, from_selection_key<T>(s.low, m_.wanted));
        }
      } else {
        walk(s, index, stride, [&](key k, position at) { last_visit(s, k, at); });
      }
      return;
    }
    const int shift = shift_of<key, bits>(pass);
    if (keeps(s, capacity_)) {
      walk(s, index, stride, [&](key k, position at) { visit<true>(s, shift, k, at); });
    } else if (pass == 0) {  // all elements are in range
      walk(s, index, stride, [&](key k, position) { count(k >> shift); });
    } else {
      walk(s, index, stride, [&](key k, position at) { visit<false>(s, shift, k, at); });
    }
  }

 private:
  template <class F>
  KSELECT_HD void walk(const state<key>& s, position index, position stride, const F& f) {
    if (s.buffered == 0) {
      if (index == 0) simt_.count(simt::counter::passes);
      const direction wanted = m_.wanted;
      kernels::for_each_element(simt_, kernels::row_at(simt_, m_, row_), index, stride,
                                [&](T value, position at) { f(selection_key(value, wanted), at); });
    } else {
      for (position i = index; i < s.buffered; i += stride) {
        f(sink_.key_at(simt_, i), sink_.position_at(simt_, i));
      };
    }
  }

  KSELECT_HD void count(key digit) {
    simt_.atomic_add(digits_.counts[static_cast<std::uint32_t>(digit)], 1U);
  }

  template <bool keeping>
  KSELECT_HD void visit(const state<key>& s, int shift, key k, position at) {
    // One comparison for both ends: almost all elements are outside.
    if (static_cast<key>(k - s.written) > static_cast<key>(s.high - s.written)) return;
    if (k < s.low) {
      write(sink_.next_written(simt_), k, at);
      return;
    }
    count((k - s.low) >> shift);
    if constexpr (keeping) sink_.keep(simt_, sink_.next_kept(simt_), k, at);
  }

  // The range is settled: takes all elements below it, and the first wanted ones found inside.
  KSELECT_HD void last_visit(const state<key>& s, key k, position at) {
    if (static_cast<key>(k - s.written) > static_cast<key>(s.high - s.written)) return;
    if (k < s.low) {
      write(sink_.next_written(simt_), k, at);
      return;
    }
    const position tied = sink_.next_tied(simt_);
    if (tied < s.wanted) write(m_.k - s.wanted + tied, k, at);
  }

  KSELECT_HD void write(position place, key k, position at) {
    if constexpr (what != answer::kth) {
      kernels::write_answer<what>(simt_, out_, row_ * m_.k + place, k, at, m_.wanted);
    }
  }

  Simt& simt_;
  bin_storage<bits>& digits_;
  Sink& sink_;
  const rows_view<T>& m_;
  const answer_view<T>& out_;
  std::int64_t row_;
  position capacity_;
};

}  // namespace kselect::radix
