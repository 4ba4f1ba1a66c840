#pragma once
// What baselines/cub_topk.cu uses of CCCL 3.5, as its headers declare it, over host memory; see
// raft_standin.hpp. What CUB asserts when it compiles (requirements, bounds, shared memory) is
// asserted here, too.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <vector>

#include "cuda_stream_standin.hpp"
#include "kselect/algorithm.hpp"

#define CCCL_VERSION 3005000

using cudaError_t = int;

// nvcc's side of the seam.
namespace kselect::simt::detail {
inline status cuda_status(cudaError_t error, const char* call, const char*) {
  return error == 0 ? status{} : status{status_code::failed, call};
}
}  // namespace kselect::simt::detail

namespace cuda {

namespace execution {
namespace determinism {
struct not_guaranteed_t {};
inline constexpr not_guaranteed_t not_guaranteed{};
}  // namespace determinism
namespace tie_break {
struct unspecified_t {};
inline constexpr unspecified_t unspecified{};
}  // namespace tie_break
namespace output_ordering {
struct unsorted_t {};
inline constexpr unsorted_t unsorted{};
}  // namespace output_ordering

template <class... What>
struct requirements {
  template <class One>
  static constexpr bool include = (std::is_same_v<One, What> || ...);
};
template <class... What>
constexpr requirements<What...> require(What...) {
  return {};
}
}  // namespace execution

namespace std::execution {
template <class Wanted>
struct env {
  using wanted = Wanted;
  stream_ref stream;
  Wanted requirements;
};
template <class Wanted>
env(stream_ref, Wanted) -> env<Wanted>;
}  // namespace std::execution

namespace args {
template <auto lowest, auto highest>
struct static_bounds {};
template <auto lowest, auto highest>
constexpr static_bounds<lowest, highest> bounds() {
  return {};
}
struct no_bounds {};

template <auto held>
struct constant {
  static constexpr ::std::int64_t highest = held;
  static constexpr bool is_constant = true;
  static constexpr ::std::int64_t value = held;
};
template <class Value, class Bounds = no_bounds>
struct immediate {
  Value value;
};
template <class Value, auto lowest, auto upmost>
struct immediate<Value, static_bounds<lowest, upmost>> {
  static constexpr ::std::int64_t highest = upmost;
  static constexpr bool is_constant = false;
  constexpr immediate(Value given, static_bounds<lowest, upmost>) : value(given) {}
  Value value;
};
template <class Value>
immediate(Value) -> immediate<Value, no_bounds>;
template <class Value, auto lowest, auto upmost>
immediate(Value, static_bounds<lowest, upmost>) -> immediate<Value, static_bounds<lowest, upmost>>;
}  // namespace args

}  // namespace cuda

namespace thrust {

template <class Number>
class counting_iterator {
 public:
  explicit counting_iterator(Number first) : first_(first) {}
  Number operator[](std::int64_t i) const { return static_cast<Number>(first_ + i); }

 private:
  Number first_;
};
template <class From, class Function>
struct transform_iterator {
  From from;
  Function function;
  auto operator[](std::int64_t i) const { return function(from[i]); }
};
template <class From, class Function>
transform_iterator<From, Function> make_transform_iterator(From from, Function function) {
  return {from, function};
}

}  // namespace thrust

namespace cub {

// What the stand-in was asked for last.
struct standin_state {
  std::int64_t bound = 0;    // of the segments; n itself where that is a constant
  bool is_constant = false;  // the segments' size
  cudaStream_t stream = nullptr;
};
inline standin_state& standin() {
  static standin_state state;
  return state;
}

inline constexpr std::size_t scratch_bytes = 777;

// With null `memory` it tells its size, else takes it, as all of CUB's calls do.
inline bool only_asks(void* memory, std::size_t& bytes) {
  if (memory == nullptr) {
    bytes = scratch_bytes;
    return true;
  }
  std::memset(memory, 0x5a, bytes);
  return false;
}

template <bool ties, class Environment>
void check(const Environment& environment) {
  namespace wanted = cuda::execution;
  using all = typename Environment::wanted;
  static_assert(all::template include<wanted::determinism::not_guaranteed_t>);
  static_assert(all::template include<wanted::output_ordering::unsorted_t>);
  static_assert(!ties || all::template include<wanted::tie_break::unspecified_t>);
  standin().stream = environment.stream.get();
}

// Writes by `put(j, place)`, best last, since the order is unspecified.
template <class Row, class Put>
void select_on_host(const Row& row, std::int64_t n, std::int64_t k, bool smallest, const Put& put) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return smallest ? row[a] < row[b] : row[b] < row[a];
  });
  for (std::int64_t j = 0; j < k; ++j) put(k - 1 - j, order[static_cast<std::size_t>(j)]);
}

// The four calls, all by `select` below.
#define KSELECT_STANDIN_CALLS                                                                      \
  static cudaError_t MinKeys(void* memory, std::size_t& bytes, auto... arguments) {                \
    return keys(true, memory, bytes, arguments...);                                                \
  }                                                                                                \
  static cudaError_t MaxKeys(void* memory, std::size_t& bytes, auto... arguments) {                \
    return keys(false, memory, bytes, arguments...);                                               \
  }                                                                                                \
  static cudaError_t MinPairs(void* memory, std::size_t& bytes, auto... arguments) {               \
    return select(true, memory, bytes, arguments...);                                              \
  }                                                                                                \
  static cudaError_t MaxPairs(void* memory, std::size_t& bytes, auto... arguments) {               \
    return select(false, memory, bytes, arguments...);                                             \
  }                                                                                                \
  static cudaError_t keys(bool smallest, void* memory, std::size_t& bytes, auto rows, auto values, \
                          auto... arguments) {                                                     \
    return select(smallest, memory, bytes, rows, values, nullptr, nullptr, arguments...);          \
  }

struct DeviceTopK {
  KSELECT_STANDIN_CALLS

  template <class To, class Size>
  static cudaError_t select(bool smallest, void* memory, std::size_t& bytes, auto row, auto values,
                            auto from, To to, Size n, Size k, const auto& environment) {
    static_assert(sizeof(Size) == 4, "64-bit counts");
    check<false>(environment);
    if (only_asks(memory, bytes)) return 0;
    select_on_host(row, n, k, smallest, [&](std::int64_t j, std::int64_t at) {
      values[j] = row[at];
      if constexpr (!std::is_null_pointer_v<To>) to[j] = from[at];
    });
    return 0;
  }
};

struct DeviceBatchedTopK {
  KSELECT_STANDIN_CALLS

  template <class To, class Size, class K>
  static cudaError_t select(bool smallest, void* memory, std::size_t& bytes, auto rows, auto values,
                            auto from, To to, Size size, K k, auto count, const auto& environment) {
    check<true>(environment);
    // A block's items pass through shared memory.
    constexpr std::int64_t shared_bytes = 32768;
    static_assert(Size::highest * std::int64_t{sizeof(rows[0][0])} <= shared_bytes);
    if constexpr (!std::is_null_pointer_v<To>) {
      static_assert(Size::highest * std::int64_t{sizeof(to[0][0])} <= shared_bytes);
    }
    if (size.value > Size::highest || k.value > K::highest) return 1;
    standin().bound = Size::highest;
    standin().is_constant = Size::is_constant;
    if (only_asks(memory, bytes)) return 0;
    for (std::int64_t segment = 0; segment < count.value; ++segment) {
      const auto row = rows[segment];
      select_on_host(row, size.value, k.value, smallest, [&](std::int64_t j, std::int64_t at) {
        values[segment][j] = row[at];
        if constexpr (!std::is_null_pointer_v<To>) to[segment][j] = from[segment][at];
      });
    }
    return 0;
  }
};

#undef KSELECT_STANDIN_CALLS

}  // namespace cub
