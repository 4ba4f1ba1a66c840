#pragma once
// simt::host: the verbs for kernels whose threads do not cooperate, as plain host code with
// one-lane warps. It makes the device code of a thread-per-row algorithm its sequential CPU form.
// Code that names other lanes or synchronises a block does not compile. fiber.hpp documents each
// verb, in the same order.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kselect/hd.hpp"
#include "kselect/simt/counters.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::simt {

class host {
 public:
  KSELECT_HD int lane() const { return 0; }

  KSELECT_HD static int ffs(std::uint32_t bits) {
    return bits == 0 ? 0 : std::countr_zero(bits) + 1;
  }

  KSELECT_HD std::uint32_t ballot(std::uint32_t, bool p) const { return p ? 1U : 0U; }
  KSELECT_HD bool any(std::uint32_t, bool p) const { return p; }
  KSELECT_HD bool all(std::uint32_t, bool p) const { return p; }
  KSELECT_HD std::uint32_t reduce_min(std::uint32_t, std::uint32_t value) const { return value; }
  KSELECT_HD void sync_warp(std::uint32_t) const {}

  template <class T>
  KSELECT_HD std::remove_const_t<T> load(global<T> from, std::int64_t i) const {
    return from.data[i];
  }
  template <class T>
  KSELECT_HD void store(global<T> to, std::int64_t i, std::type_identity_t<T> value) const {
    to.data[i] = value;
  }

  KSELECT_HD void count(counter, std::int64_t = 1) const {}
  KSELECT_HD void count_at(counter, std::int64_t, std::int64_t = 1) const {}
  KSELECT_HD void count_step(counter) const {}
};

}  // namespace kselect::simt
