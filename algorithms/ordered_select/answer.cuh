#pragma once
// Ordered selection: reads and writes elements of answers [Q][...] in global memory.

#include "kernels/bitonic.cuh"

namespace kselect::ordered {

using kernels::answer_view;
using kernels::item;
using kernels::position;

// A selection key in a word wide enough for shuffles.
template <class T>
using key_word = order_word_t<T>;

template <class T>
KSELECT_HD T value_of(key_word<T> key, order_t<T> wanted) {
  return from_selection_key<T>(static_cast<order_key_t<T>>(key), wanted);
}

// Calls f with the answer's indices, of either type.
template <class T, class F>
KSELECT_HD void with_indices(const answer_view<T>& answer, const F& f) {
  if (answer.indices_64.size == 0) {
    f(answer.indices_32);
  } else {
    f(answer.indices_64);
  }
}

template <bool indexed, class Simt, class T>
KSELECT_HD item<key_word<T>, indexed> read_element(Simt& simt, const answer_view<T>& from,
                                                   std::int64_t place, order_t<T> wanted) {
  item<key_word<T>, indexed> e{selection_key(simt.load(from.values, place), wanted), 0};
  if constexpr (indexed) {
    with_indices(from,
                 [&](auto indices) { e.at = static_cast<position>(simt.load(indices, place)); });
  }
  return e;
}

template <class Simt, class T>
KSELECT_HD void write_index(Simt& simt, const answer_view<T>& to, std::int64_t place,
                            position column) {
  with_indices(to, [&]<class Index>(simt::global<Index> indices) {
    simt.store(indices, place, static_cast<Index>(column));
  });
}

template <class Simt, class T, bool indexed>
KSELECT_HD void write_element(Simt& simt, const answer_view<T>& to, std::int64_t place,
                              const item<key_word<T>, indexed>& e, order_t<T> wanted) {
  simt.store(to.values, place, value_of<T>(e.key, wanted));
  if constexpr (indexed) write_index(simt, to, place, e.at);
}

}  // namespace kselect::ordered
