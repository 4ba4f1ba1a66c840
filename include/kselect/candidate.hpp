#pragma once
// An element of a row as one unsigned integer, for algorithms that compare elements.
//
// With indices it holds the selection key (order.hpp) in its high half and the index in its low
// half. One integer compare then is the total order on bits, ties by ascending index, smallest or
// largest, NaN included; no two elements of a row are equal, and all ones, which no index below the
// type's maximum gives, stands for "none" without taking a value from the user. Without indices it
// is the key alone.

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

// What is worse than every element: an empty slot of a queue. A bare candidate may be equal to it
// (one NaN has this key); then the empty slot's value is that element's, to the bit.
template <class Candidate>
inline constexpr typename Candidate::type no_candidate =
    static_cast<typename Candidate::type>(~typename Candidate::type{0});

}  // namespace kselect
