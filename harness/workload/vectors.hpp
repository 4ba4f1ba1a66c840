#pragma once
// Generated vectors whose distances are taken: rows of the generator whose length is the dimension.
// Selections between generated vectors and searches for them get the same ones.

#include "harness/workload/workload.hpp"

namespace kselect::harness {

// Variant 0 has the workload's own seed.
constexpr std::uint64_t seed_of(const workload& p, int variant) {
  return p.seed ^ static_cast<std::uint64_t>(variant) * 0x9e3779b97f4a7c15U;
}

// The n vectors of the corpus: [n][dimension].
inline workload corpus_of(const workload& p, std::int64_t dimension) {
  workload components;
  components.n = dimension;
  components.q = p.n;
  components.k = 1;
  components.distribution = p.distribution;
  components.seed = p.seed;
  return components;
}

// The Q queries, [Q][dimension]. Another variant has other queries of the same corpus.
inline workload queries_of(const workload& p, std::int64_t dimension, int variant) {
  workload components = corpus_of(p, dimension);
  components.q = p.q;
  components.seed = ~seed_of(p, variant);
  return components;
}

}  // namespace kselect::harness
