#pragma once
// The element types. This table says all that is of one type alone: name, bits, meaning. Order,
// sizes, names and dispatch follow from it, here and in order.hpp. A new type needs an enumerator,
// a row of the table, a place in `element_types`, and its numbers (harness/workload/generator.hpp).
// An algorithm declares the types that it takes (algorithm::dtypes).

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "kselect/float16.hpp"
#include "kselect/float8.hpp"
#include "kselect/names.hpp"

namespace kselect {

enum class dtype : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int32,
  uint32,
  int8,
  uint8,
  float8_e4m3fn,
  float8_e5m2
};

// What the bits of a type mean, which decides its order (order.hpp).
enum class number_kind : std::uint8_t {
  floating,        // a sign, an exponent, a fraction
  signed_integer,  // two's complement
  unsigned_integer
};

namespace detail {
// `exponent_`: the bits of the exponent, all set: without a fraction they are +infinity, or a
// number if the type has no infinity. `greatest_`: the bits of the greatest that is no NaN; NaNs
// are above.
template <class Bits, Bits exponent_, Bits greatest_ = exponent_>
struct floating_traits {
  using bits = Bits;
  static constexpr number_kind kind = number_kind::floating;
  static constexpr Bits exponent = exponent_, greatest = greatest_;
  static constexpr bool has_nan = true, has_infinity = exponent_ == greatest_;
};
template <class Bits, bool is_signed>
struct integer_traits {
  using bits = Bits;
  static constexpr number_kind kind =
      is_signed ? number_kind::signed_integer : number_kind::unsigned_integer;
  static constexpr bool has_nan = false, has_infinity = false;
};
}  // namespace detail

template <class T>
struct dtype_traits;

// ---- the table

template <>
struct dtype_traits<float> : detail::floating_traits<std::uint32_t, 0x7f800000U> {
  static constexpr dtype type = dtype::float32;
  static constexpr std::string_view name = "float32";
};
template <>
struct dtype_traits<double> : detail::floating_traits<std::uint64_t, 0x7ff0000000000000ULL> {
  static constexpr dtype type = dtype::float64;
  static constexpr std::string_view name = "float64";
};
template <>
struct dtype_traits<float16> : detail::floating_traits<std::uint16_t, 0x7c00U> {
  static constexpr dtype type = dtype::float16;
  static constexpr std::string_view name = "float16";
};
template <>
struct dtype_traits<bfloat16> : detail::floating_traits<std::uint16_t, 0x7f80U> {
  static constexpr dtype type = dtype::bfloat16;
  static constexpr std::string_view name = "bfloat16";
};

template <>
struct dtype_traits<std::int32_t> : detail::integer_traits<std::uint32_t, true> {
  static constexpr dtype type = dtype::int32;
  static constexpr std::string_view name = "int32";
};
template <>
struct dtype_traits<std::uint32_t> : detail::integer_traits<std::uint32_t, false> {
  static constexpr dtype type = dtype::uint32;
  static constexpr std::string_view name = "uint32";
};
template <>
struct dtype_traits<std::int8_t> : detail::integer_traits<std::uint8_t, true> {
  static constexpr dtype type = dtype::int8;
  static constexpr std::string_view name = "int8";
};
template <>
struct dtype_traits<std::uint8_t> : detail::integer_traits<std::uint8_t, false> {
  static constexpr dtype type = dtype::uint8;
  static constexpr std::string_view name = "uint8";
};
template <>
struct dtype_traits<float8_e4m3fn> : detail::floating_traits<std::uint8_t, 0x78U, 0x7eU> {
  static constexpr dtype type = dtype::float8_e4m3fn;
  static constexpr std::string_view name = "float8_e4m3fn";
};
template <>
struct dtype_traits<float8_e5m2> : detail::floating_traits<std::uint8_t, 0x7cU> {
  static constexpr dtype type = dtype::float8_e5m2;
  static constexpr std::string_view name = "float8_e5m2";
};

template <class... T>
struct type_list {};
// All types, in the order of their enumerators.
using element_types = type_list<float, double, float16, bfloat16, std::int32_t, std::uint32_t,
                                std::int8_t, std::uint8_t, float8_e4m3fn, float8_e5m2>;

// ---- what follows from it

namespace detail {

template <class... T>
constexpr auto names_in(type_list<T...>) {
  return std::array<named<dtype>, sizeof...(T)>{
      {{dtype_traits<T>::type, dtype_traits<T>::name}...}};
}

template <class First, class... Rest, class F>
constexpr decltype(auto) visit_in(type_list<First, Rest...>, dtype type, F&& f) {
  if constexpr (sizeof...(Rest) != 0) {
    if (type != dtype_traits<First>::type) {
      return visit_in(type_list<Rest...>{}, type, std::forward<F>(f));
    }
  }
  return std::forward<F>(f)(First{});
}

}  // namespace detail

constexpr auto names_of(dtype) { return detail::names_in(element_types{}); }

// Calls f(T{}) with the type that `type` names: for code that computes or prints numbers.
template <class F>
constexpr decltype(auto) visit_number(dtype type, F&& f) {
  return detail::visit_in(element_types{}, type, std::forward<F>(f));
}

constexpr std::size_t size_of(dtype type) {
  return visit_number(type, []<class T>(T) { return sizeof(T); });
}
constexpr number_kind kind_of(dtype type) {
  return visit_number(type, []<class T>(T) { return dtype_traits<T>::kind; });
}

// An element whose type is known when the program runs: code that only orders or moves elements
// takes words, and word_order (order.hpp) says how their bits order. One instance of the code then
// serves all types of a width.
template <class Bits>
struct word {
  Bits bits;
};
template <class T>
inline constexpr bool is_word = false;
template <class Bits>
inline constexpr bool is_word<word<Bits>> = true;

// Calls f(word<Bits>{}) with the width of the type.
template <class F>
constexpr decltype(auto) visit_words(dtype type, F&& f) {
  switch (size_of(type)) {
    case 1:
      return std::forward<F>(f)(word<std::uint8_t>{});
    case 2:
      return std::forward<F>(f)(word<std::uint16_t>{});
    case 4:
      return std::forward<F>(f)(word<std::uint32_t>{});
    default:
      return std::forward<F>(f)(word<std::uint64_t>{});
  }
}

// Calls f(T{}) with T = float or double. Aborts for other types: it is for algorithms that do not
// declare them.
template <class F>
decltype(auto) visit(dtype type, F&& f) {
  if (type == dtype::float64) return std::forward<F>(f)(double{});
  if (type != dtype::float32) std::abort();
  return std::forward<F>(f)(float{});
}

// The same for kernels, which are compiled for floating-point types of 16 bits and more as they
// are, with float16 for both 16-bit types, whose order is the same (order.hpp); for other types as
// words.
template <class F>
decltype(auto) visit_bits(dtype type, F&& f) {
  switch (size_of(type)) {
    case 1:
      return std::forward<F>(f)(word<std::uint8_t>{});
    case 2:
      return std::forward<F>(f)(float16{});
    case 4:
      if (type != dtype::float32) return std::forward<F>(f)(word<std::uint32_t>{});
      return std::forward<F>(f)(float{});
    default:
      return std::forward<F>(f)(double{});
  }
}

}  // namespace kselect
