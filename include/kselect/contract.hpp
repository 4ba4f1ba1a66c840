#pragma once
// What an algorithm promises about its answer. The terms are CUB's
// (docs/cub/device_topk_requirements). They separate which items are chosen (`determinism`,
// `tie_break`) from their order (`output_ordering`). The verifier checks exactly these promises.
// The harness runs an algorithm only on inputs that its contract admits.

#include <array>
#include <cstdint>
#include <limits>

#include "kselect/dtypes.hpp"
#include "kselect/names.hpp"

namespace kselect {

enum class output_ordering : std::uint8_t {
  unsorted,
  sorted,        // best first
  stable_sorted  // best first, equal keys by ascending index
};

// Which of the elements that tie with the k-th key are chosen.
enum class tie_break : std::uint8_t { unspecified, prefer_smaller_index };

// Whether equal inputs give bitwise equal outputs, order included.
enum class determinism : std::uint8_t { not_guaranteed, run_to_run, gpu_to_gpu };

enum class nan_policy : std::uint8_t {
  total_order,  // NaN is a key like any other (order.hpp): +NaN above +inf
  unsupported   // undefined on rows with a NaN; the harness gives it none
};

enum class zero_policy : std::uint8_t {
  distinct,  // -0 before +0
  merged     // -0 and +0 tie; the chosen element keeps its bits
};

constexpr auto names_of(output_ordering) {
  return std::to_array<named<output_ordering>>({{output_ordering::unsorted, "unsorted"},
                                                {output_ordering::sorted, "sorted"},
                                                {output_ordering::stable_sorted, "stable_sorted"}});
}
constexpr auto names_of(tie_break) {
  return std::to_array<named<tie_break>>(
      {{tie_break::unspecified, "unspecified"},
       {tie_break::prefer_smaller_index, "prefer_smaller_index"}});
}
constexpr auto names_of(determinism) {
  return std::to_array<named<determinism>>({{determinism::not_guaranteed, "not_guaranteed"},
                                            {determinism::run_to_run, "run_to_run"},
                                            {determinism::gpu_to_gpu, "gpu_to_gpu"}});
}
constexpr auto names_of(nan_policy) {
  return std::to_array<named<nan_policy>>(
      {{nan_policy::total_order, "total_order"}, {nan_policy::unsupported, "unsupported"}});
}
constexpr auto names_of(zero_policy) {
  return std::to_array<named<zero_policy>>(
      {{zero_policy::distinct, "distinct"}, {zero_policy::merged, "merged"}});
}

// A small set of enumerators, as a bit mask: `set_of(dtype::float32, dtype::float64)`.
template <class Enum>
struct enum_set {
  std::uint32_t bits = 0;
  constexpr bool contains(Enum e) const { return (bits >> static_cast<unsigned>(e) & 1U) != 0; }
  bool operator==(const enum_set&) const = default;
};
template <class Enum, class... Rest>
constexpr enum_set<Enum> set_of(Enum first, Rest... rest) {
  return {((1U << static_cast<unsigned>(first)) | ... | (1U << static_cast<unsigned>(rest)))};
}

namespace detail {
template <class... T>
constexpr enum_set<dtype> set_of_types(type_list<T...>) {
  return set_of(dtype_traits<T>::type...);
}
}  // namespace detail
inline constexpr enum_set<dtype> every_dtype = detail::set_of_types(element_types{});

inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

struct limits {
  std::int64_t max_n = unlimited;
  std::int64_t max_q = unlimited;
  std::int64_t max_k = unlimited;
  std::int64_t alignment = 0;  // of the input and of each row, in bytes; 0: one element
};

struct contract {
  output_ordering ordering = output_ordering::unsorted;
  kselect::tie_break tie_break = kselect::tie_break::unspecified;
  kselect::determinism determinism = kselect::determinism::not_guaranteed;
  nan_policy nan = nan_policy::total_order;
  zero_policy zeros = zero_policy::distinct;
  bool infinities = true;  // false: undefined on rows with infinities; the harness gives it none
  kselect::limits limits;
  bool synchronises = false;    // enqueue returns only after the work is done
  bool modifies_input = false;  // works in place; the harness restores the rows, untimed
};

}  // namespace kselect
