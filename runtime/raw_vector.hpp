#pragma once
// A vector whose resize() leaves new numbers unset. Whoever resizes it must write all of them. One
// thread would take as long to set them to 0.

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace kselect::runtime {

template <class T>
struct raw_allocator : std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  template <class U>
  struct rebind {
    using other = raw_allocator<U>;
  };
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Values>
  void construct(U* at, Values&&... values) {
    ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
  }
};

template <class T>
using raw_vector = std::vector<T, raw_allocator<T>>;

}  // namespace kselect::runtime
