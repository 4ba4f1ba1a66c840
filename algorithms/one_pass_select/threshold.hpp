#if defined(KSELECT_ONE_PASS_THRESHOLD) == defined(HWY_TARGET_TOGGLE)
#ifdef KSELECT_ONE_PASS_THRESHOLD
#undef KSELECT_ONE_PASS_THRESHOLD
#else
#define KSELECT_ONE_PASS_THRESHOLD
#endif

// Phase 1: a key that is guaranteed to be no better than the row's k-th best.
//
// Take any k disjoint non-empty groups of a row's elements. At least k elements are at or below the
// k-th smallest group minimum: one in each group whose minimum is. This is the first level of Tang
// et al. 2015's hierarchical partition (Sec. III-E), used as a threshold. If G groups cover a row
// in random order, about k (G/k) ln(G / (G - k)) elements pass: 1.39 k for G = 2k, 1.15 k for G =
// 4k.
//
// Group j holds the elements j, j + G, j + 2G, ... of a piece of the row. Neighbours fall into
// different groups, so on a sorted or reversed row the group minima are the best G elements. A row
// longer than the sample is sampled in pieces from its first element to its last, so that its order
// does not matter there either.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "algorithms/one_pass_select/order_statistic.hpp"
#include "algorithms/one_pass_select/targets.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {

// How a row of n is sampled for its k best. `pieces` start `stride` elements apart. A piece has
// `rounds` rounds of `groups` elements, which start `apart` elements apart. groups is a multiple of
// 32, and at least 2 k; 0 if the row is too short.
struct sampling {
  std::int64_t groups = 0, rounds = 0, apart = 0, pieces = 0, stride = 0;
};

inline sampling plan_sampling(std::int64_t n, std::int64_t k) {
  constexpr std::int64_t unit = 32;
  constexpr std::int64_t page =
      1024;  // elements; a shorter piece would cost a TLB entry for little
  sampling plan;
  const std::int64_t factor = k <= 8 ? 4 : 2;
  plan.groups = (factor * k + unit - 1) / unit * unit;
  // A sample of s costs s / 16 vectors and leaves about 1.4 k n / s hits, whose cost rises as they
  // become rarer; the factor 256 balances the two. On long rows, which the stream reads from memory
  // once more, a smaller sample is best, and cuts tighten the bound.
  const auto balanced =
      static_cast<std::int64_t>(std::sqrt(256.0 * static_cast<double>(k) * static_cast<double>(n)));
  const std::int64_t size = std::min(balanced, std::max<std::int64_t>(1 << 15, 32 * k));
  const std::int64_t piece = std::max(page / plan.groups, std::int64_t{4}) * plan.groups;
  plan.apart = plan.groups;
  plan.pieces = 1;
  if (size >= n / 4 * 3 || piece > size) {
    plan.rounds = n / plan.groups;
    if (plan.rounds == 0) return {};
  } else {
    const bool alone = plan.groups >= page;  // a round is long enough for a piece
    plan.rounds = (alone ? size : piece) / plan.groups;
    plan.pieces = alone ? 1 : size / piece;
    if (plan.pieces == 1) plan.apart = (n - plan.groups) / (plan.rounds - 1);
  }
  plan.stride = plan.pieces == 1 ? n : (n - piece) / (plan.pieces - 1);
  return plan;
}

// Keys of scratch for threshold().
constexpr std::int64_t threshold_scratch(const sampling& plan) {
  return plan.groups + padding + order_statistic_scratch(plan.groups);
}

// A key such that at least k elements of the row are at or below it. `scratch`:
// threshold_scratch().
template <class Lanes, class T>
key_of<T> threshold(key_row<T> row, std::int64_t k, sampling plan, key_of<T>* scratch) {
  using Int = key_of<T>;
  Int* const minima = scratch;
  const auto keys = [=](std::int64_t i) KSELECT_TARGET_ATTR {
    return row.template keys<Lanes>(row.template bits<Lanes>(i));
  };
  // Prefetches the next piece or separate round, not the elements behind the current one.
  const std::int64_t fetched = plan.apart > plan.groups ? 4 * plan.apart
                               : plan.pieces == 1       ? fetched_ahead<T>
                                                        : plan.stride;
  for (std::int64_t g = 0; g < plan.groups; g += Lanes::size) Lanes::store(keys(g), minima + g);
  for (std::int64_t piece = 0; piece < plan.pieces; ++piece) {
    std::int64_t round = 0;
    for (; round + 4 <= plan.rounds; round += 4) {
      const std::int64_t start = piece * plan.stride + round * plan.apart;
      for (std::int64_t g = 0; g < plan.groups; g += Lanes::size) {
        const std::int64_t i = start + g;
        for (int ahead = 0; ahead < 4; ++ahead) {
          row.template prefetch<Lanes::size>(i + ahead * plan.apart, fetched);
        }
        const auto two = Lanes::min(keys(i), keys(i + plan.apart));
        const auto others = Lanes::min(keys(i + 2 * plan.apart), keys(i + 3 * plan.apart));
        Lanes::store(Lanes::min(Lanes::load(minima + g), Lanes::min(two, others)), minima + g);
      }
    }
    for (; round < plan.rounds; ++round) {
      const std::int64_t start = piece * plan.stride + round * plan.apart;
      for (std::int64_t g = 0; g < plan.groups; g += Lanes::size) {
        Lanes::store(Lanes::min(Lanes::load(minima + g), keys(start + g)), minima + g);
      }
    }
  }
  return kth_smallest<Lanes>(minima, plan.groups, k - 1, minima + plan.groups + padding).key;
}

}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#endif  // KSELECT_ONE_PASS_THRESHOLD
