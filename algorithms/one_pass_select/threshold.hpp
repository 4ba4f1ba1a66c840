#pragma once
// Phase 1: a key that is guaranteed to be no better than the row's k-th best.
//
// Of any k disjoint non-empty groups of a row's elements, the k-th smallest group minimum has at
// least k elements at or below it: one in each group whose minimum is. This is the first level of
// Tang et al. 2015's hierarchical partition (Sec. III-E), used as a threshold. Of G groups that
// cover a row in random order, about k (G/k) ln(G / (G - k)) elements pass: 1.39 k for G = 2k, 1.15 k
// for G = 4k.
//
// Group j holds the elements j, j + G, j + 2G, ... of the sample: neighbours fall into different
// groups, so on a sorted row as on its reverse the groups' minima are the row's best G. A row longer
// than the sample is sampled in chunks spread over all of it, so that the order of a row does not
// matter there either.

#include <algorithm>
#include <cstdint>

#include "algorithms/one_pass_select/order_statistic.hpp"

namespace kselect::one_pass {

// How a row of n is sampled for its k best: `rounds` chunks of `groups` elements, whose starts lie
// `stride` apart. groups is a multiple of 32 and at least 2 k; 0 if the row is too short for that.
struct sampling {
  std::int64_t groups = 0, rounds = 0, stride = 0;
};

inline sampling plan_sampling(std::int64_t n, std::int64_t k) {
  constexpr std::int64_t unit = 32;
  constexpr std::int64_t longest = 1 << 16;  // elements of a sample, unless k asks for more
  const std::int64_t factor = k <= 8 ? 4 : 2;
  sampling plan;
  plan.groups = (std::max(factor * k, unit) + unit - 1) / unit * unit;
  plan.rounds = std::min(n / plan.groups, std::max<std::int64_t>(longest / plan.groups, 8));
  if (plan.rounds == 0) return {};
  plan.stride = n / plan.rounds;
  return plan;
}

// Keys of scratch that threshold needs.
constexpr std::int64_t threshold_scratch(const sampling& plan) {
  return plan.groups + padding + order_statistic_scratch(plan.groups);
}

// A key such that at least k elements of the row are at or below it; scratch as said above.
template <class Lanes, class T>
key_of<T> threshold(key_row<T> row, std::int64_t k, sampling plan, key_of<T>* scratch) {
  using Int = key_of<T>;
  Int* const minima = scratch;
  const auto keys = [=](std::int64_t i) {
    return row.template keys<Lanes>(row.template bits<Lanes>(i));
  };
  for (std::int64_t g = 0; g < plan.groups; g += Lanes::size) {
    Lanes::store(keys(g), minima + g);
  }
  std::int64_t round = 1;
  for (; round + 4 <= plan.rounds; round += 4) {
    const std::int64_t start = round * plan.stride;
    for (std::int64_t g = start; g < start + plan.groups; g += Lanes::size) {
      const auto two = Lanes::min(keys(g), keys(g + plan.stride));
      const auto others = Lanes::min(keys(g + 2 * plan.stride), keys(g + 3 * plan.stride));
      Int* const group = minima + (g - start);
      Lanes::store(Lanes::min(Lanes::load(group), Lanes::min(two, others)), group);
    }
  }
  for (; round < plan.rounds; ++round) {
    const std::int64_t start = round * plan.stride;
    for (std::int64_t g = start; g < start + plan.groups; g += Lanes::size) {
      Int* const group = minima + (g - start);
      Lanes::store(Lanes::min(Lanes::load(group), keys(g)), group);
    }
  }
  return kth_smallest<Lanes>(minima, plan.groups, k - 1, minima + plan.groups + padding).key;
}

}  // namespace kselect::one_pass
