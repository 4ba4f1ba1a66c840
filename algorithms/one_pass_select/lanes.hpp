#if defined(KSELECT_ONE_PASS_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef KSELECT_ONE_PASS_LANES
#undef KSELECT_ONE_PASS_LANES
#else
#define KSELECT_ONE_PASS_LANES
#endif

// The vector operations of one_pass_select.cpp's phases, as two policies:
//
//   highway_lanes<Int>   Highway (Wassenberg et al.), for the target being compiled (targets.hpp)
//   plain_lanes<Int>     the compiler's own vectors, if Highway is absent or its vectors have no
//                        length at compile time (SVE, RISC-V)
//
// Int is the signed integer of a key (keys.hpp). compress(v, m) moves the lanes chosen by m to the
// front and keeps their order; the lanes behind them are unspecified. Loads and stores take any
// alignment. count(m) is the number of chosen lanes.

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "algorithms/one_pass_select/targets.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {

namespace detail {
template <class Int>
inline constexpr std::array<Int, 64> ascending = [] {
  std::array<Int, 64> numbers{};
  std::iota(numbers.begin(), numbers.end(), Int{0});
  return numbers;
}();
}  // namespace detail

template <class IntType>
struct plain_lanes {
  using Int = IntType;
#ifdef __AVX__
  static constexpr int bytes = 32;
#else
  static constexpr int bytes = 16;  // a wider one would change the ABI of functions that return it
#endif
  static constexpr std::int64_t size = bytes / sizeof(Int);
  typedef Int vector __attribute__((vector_size(bytes)));
  typedef std::make_unsigned_t<Int> bits __attribute__((vector_size(bytes)));  // sums may wrap
  using mask = vector;  // a chosen lane is -1

  static vector load(const Int* from) {
    vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  // As 32-bit integers whose lower halves are zeros.
  static vector load_upper_halves(const std::uint16_t* from) {
    typedef std::uint16_t halves __attribute__((vector_size(bytes / 2)));
    halves v;
    std::memcpy(&v, from, sizeof v);
    return __builtin_convertvector(v, vector) << 16;
  }
  static vector load_upper_bytes(const std::uint8_t* from) {
    typedef std::uint8_t quarters __attribute__((vector_size(bytes / 4)));
    quarters v;
    std::memcpy(&v, from, sizeof v);
    return __builtin_convertvector(v, vector) << 24;
  }
  static void store(vector v, Int* to) { std::memcpy(to, &v, sizeof v); }
  static vector set(Int x) { return vector{} + x; }
  static vector iota(Int first) { return add(load(detail::ascending<Int>.data()), set(first)); }
  static vector add(vector a, vector b) {
    return reinterpret_cast<vector>(reinterpret_cast<bits>(a) + reinterpret_cast<bits>(b));
  }
  static vector exclusive_or(vector a, vector b) { return a ^ b; }
  // x, with the bits of the mask flipped if x is negative.
  static vector flip_negative(vector x, vector mask) {
    return x ^ ((x >> (8 * sizeof(Int) - 1)) & mask);
  }
  static vector min(vector a, vector b) { return a < b ? a : b; }
  static vector max(vector a, vector b) { return a < b ? b : a; }
  static mask less(vector a, vector b) { return a < b; }
  static mask less_equal(vector a, vector b) { return a <= b; }
  static mask equal(vector a, vector b) { return a == b; }
  static mask both(mask a, mask b) { return a & b; }
  static mask first(std::int64_t lanes) { return iota(0) < set(static_cast<Int>(lanes)); }
  static vector select(mask m, vector yes, vector no) { return m ? yes : no; }
  // counts + 1 where m is chosen.
  static vector count_up(vector counts, mask m) { return counts - m; }
  static std::int64_t count(mask m) { return -static_cast<std::int64_t>(sum(m)); }
  static bool any(mask m) {
    Int chosen = 0;
    for (int i = 0; i < size; ++i) chosen |= m[i];
    return chosen != 0;
  }
  static vector compress(vector v, mask m) {
    vector front{};
    int chosen = 0;
    for (int i = 0; i < size; ++i) {
      front[chosen] = v[i];
      chosen += m[i] != 0;
      if (chosen == size) break;
    }
    return front;
  }
  static Int sum(vector v) {
    Int total = 0;
    for (int i = 0; i < size; ++i) total = static_cast<Int>(total + v[i]);
    return total;
  }
  static Int largest(vector v) {
    Int most = v[0];
    for (int i = 1; i < size; ++i) most = most < v[i] ? v[i] : most;
    return most;
  }
};

#if KSELECT_HAS_HIGHWAY && !HWY_HAVE_SCALABLE

namespace detail {
// For every mask of `lanes` lanes of Int: the order of a vector's 32-bit words that brings the
// chosen lanes to the front.
template <class Int, int lanes>
inline constexpr auto words_to_front = [] {
  constexpr int words = sizeof(Int) / 4;
  std::array<std::array<std::int32_t, lanes * words>, 1 << lanes> orders{};
  for (unsigned mask = 0; mask < orders.size(); ++mask) {
    std::size_t at = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (int word = 0; word < words; ++word) orders[mask][at++] = lane * words + word;
    }
  }
  return orders;
}();
}  // namespace detail

template <class IntType>
struct highway_lanes {
  using Int = IntType;
  static constexpr hwy::HWY_NAMESPACE::ScalableTag<Int> tag{};
  static constexpr std::int64_t size = HWY_LANES(Int);
  using vector = hwy::HWY_NAMESPACE::Vec<decltype(tag)>;
  using mask = hwy::HWY_NAMESPACE::Mask<decltype(tag)>;

  static vector load(const Int* from) { return hwy::HWY_NAMESPACE::LoadU(tag, from); }
  static vector load_upper_halves(const std::uint16_t* from) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<std::uint16_t, decltype(tag)> halves;
    return hn::ShiftLeft<16>(hn::PromoteTo(tag, hn::LoadU(halves, from)));
  }
  static vector load_upper_bytes(const std::uint8_t* from) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<std::uint8_t, decltype(tag)> quarters;
    return hn::ShiftLeft<24>(hn::PromoteTo(tag, hn::LoadU(quarters, from)));
  }
  static void store(vector v, Int* to) { hwy::HWY_NAMESPACE::StoreU(v, tag, to); }
  static vector set(Int x) { return hwy::HWY_NAMESPACE::Set(tag, x); }
  // Not Iota(tag, first): 1.0.3 builds it lane by lane.
  static vector iota(Int first) { return add(load(detail::ascending<Int>.data()), set(first)); }
  static vector add(vector a, vector b) { return hwy::HWY_NAMESPACE::Add(a, b); }
  static vector exclusive_or(vector a, vector b) { return hwy::HWY_NAMESPACE::Xor(a, b); }
  static vector flip_negative(vector x, vector mask) {
    const vector sign = hwy::HWY_NAMESPACE::BroadcastSignBit(x);
    return exclusive_or(x, hwy::HWY_NAMESPACE::And(sign, mask));
  }
  static vector min(vector a, vector b) { return hwy::HWY_NAMESPACE::Min(a, b); }
  static vector max(vector a, vector b) { return hwy::HWY_NAMESPACE::Max(a, b); }
  static mask less(vector a, vector b) { return hwy::HWY_NAMESPACE::Lt(a, b); }
  static mask less_equal(vector a, vector b) { return equal(min(a, b), a); }
  static mask equal(vector a, vector b) { return hwy::HWY_NAMESPACE::Eq(a, b); }
  static mask negate(mask m) { return hwy::HWY_NAMESPACE::Not(m); }
  static mask both(mask a, mask b) { return hwy::HWY_NAMESPACE::And(a, b); }
  static mask first(std::int64_t lanes) {
    return hwy::HWY_NAMESPACE::FirstN(tag, static_cast<std::size_t>(lanes));
  }
  static vector select(mask m, vector yes, vector no) {
    return hwy::HWY_NAMESPACE::IfThenElse(m, yes, no);
  }
  static vector count_up(vector counts, mask m) {
    if constexpr (HWY_TARGET <= HWY_AVX3) {  // masks have registers of their own: one masked add
      return hwy::HWY_NAMESPACE::IfThenElse(m, add(counts, set(1)), counts);
    } else {
      return hwy::HWY_NAMESPACE::Sub(counts, hwy::HWY_NAMESPACE::VecFromMask(tag, m));
    }
  }
  static std::int64_t count(mask m) {
#if HWY_TARGET <= HWY_AVX3 && defined(__GNUC__) && !defined(__clang__)
    // GCC 12 spills a mask that is widened as its own one or two bytes, and then counts the bits of
    // the eight bytes at that place. In a general register it is widened correctly.
    auto bits = static_cast<std::conditional_t<size <= 8, std::uint8_t, std::uint16_t>>(m.raw);
    asm("" : "+r"(bits));
    return __builtin_popcount(bits);
#else
    return static_cast<std::int64_t>(hwy::HWY_NAMESPACE::CountTrue(tag, m));
#endif
  }
  static bool any(mask m) { return !hwy::HWY_NAMESPACE::AllFalse(tag, m); }
  static vector compress(vector v, mask m) {
    namespace hn = hwy::HWY_NAMESPACE;
    if constexpr (size == 1 || (HWY_TARGET <= HWY_AVX3 && sizeof(Int) == 4)) {
      return hn::Compress(v, m);
    } else {
      // In other cases 1.0.3 uses tables that are local constants, which GCC 12 copies to the stack
      // in every call.
      const hn::Repartition<std::int32_t, decltype(tag)> words;
      std::uint8_t chosen[8];
      hn::StoreMaskBits(tag, m, chosen);
      const auto& order = detail::words_to_front<Int, static_cast<int>(size)>[chosen[0]];
      return hn::BitCast(tag, hn::TableLookupLanes(hn::BitCast(words, v),
                                                   hn::SetTableIndices(words, order.data())));
    }
  }
  static Int sum(vector v) {
    return hwy::HWY_NAMESPACE::GetLane(hwy::HWY_NAMESPACE::SumOfLanes(tag, v));
  }
  static Int largest(vector v) {
    return hwy::HWY_NAMESPACE::GetLane(hwy::HWY_NAMESPACE::MaxOfLanes(tag, v));
  }
};

template <class Int>
using best_lanes = highway_lanes<Int>;

#else

template <class Int>
using best_lanes = plain_lanes<Int>;

#endif

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_LANES
