#pragma once
// One row element packed into one unsigned integer, so that one integer comparison orders elements.
//
// With indices, the high half is the selection key (order.hpp) and the low half is the index.
// Integer order is then the total order on bits, with ties by ascending index, in both directions.
// All candidates of a row differ. All ones means "no candidate": no valid index has all bits set.
// Without indices, a candidate is the key alone.

#include <cstdint>
#include <type_traits>

#include "kselect/hd.hpp"
#include "kselect/order.hpp"

namespace kselect {

template <class T>
struct keyed_candidate {  // values with indices
  using key_type = order_key_t<T>;
  __extension__ typedef unsigned __int128 uint128;
  using index_type = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
  using type = std::conditional_t<sizeof(T) <= 4, std::uint64_t, uint128>;
  static constexpr int index_bits = 8 * sizeof(index_type);

  KSELECT_HD static constexpr type make(key_type key, std::int64_t index) {
    return static_cast<type>(key) << index_bits | static_cast<type>(index);
  }
  KSELECT_HD static constexpr key_type key(type c) {
    return static_cast<key_type>(c >> index_bits);
  }
  KSELECT_HD static constexpr std::int64_t index(type c) {
    return static_cast<std::int64_t>(static_cast<index_type>(c));
  }
};

template <class T>
struct bare_candidate {  // values only
  using type = order_key_t<T>;
  KSELECT_HD static constexpr type make(type key, std::int64_t) { return key; }
  KSELECT_HD static constexpr type key(type c) { return c; }
  KSELECT_HD static constexpr std::int64_t index(type) { return 0; }
};

// An empty slot of a queue: not better than any element. A bare candidate can equal it (one NaN has
// this key). Then the empty slot decodes to the bits of exactly that NaN.
template <class Candidate>
inline constexpr typename Candidate::type no_candidate =
    static_cast<typename Candidate::type>(~typename Candidate::type{0});

}  // namespace kselect
