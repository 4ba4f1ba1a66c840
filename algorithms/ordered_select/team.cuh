#pragma once
// Ordered selection: a team of neighbouring threads of a block that works on one answer. Several
// teams share a warp, or a team is several warps. All teams of a block have the same size.

#include "algorithms/ordered_select/answer.cuh"

namespace kselect::ordered {

inline constexpr int most_block_warps = simt::thread_limit / simt::warp_size;

struct team_storage {
  std::uint64_t of_warp[most_block_warps];
};

template <class Simt>
class answer_team {
 public:
  // `threads`: of a team, a power of two.
  KSELECT_HD answer_team(Simt& simt, team_storage& shared, int threads)
      : simt_(simt), shared_(shared), threads_(threads) {}

  KSELECT_HD int number() const { return simt_.thread() / threads_; }
  KSELECT_HD position thread() const {
    return static_cast<position>(simt_.thread() & (threads_ - 1));
  }
  KSELECT_HD position threads() const { return static_cast<position>(threads_); }

  // Reduces the team's values by op, which is associative and commutative. Each thread gets the
  // result. All threads of the block call it.
  template <class V, class Op>
  KSELECT_HD V join(V own, const Op& op) {
    for (int delta = 1; delta < threads_ && delta < simt::warp_size; delta *= 2) {
      own = op(own, simt_.shfl_xor(simt::full_mask, own, delta));
    }
    if (threads_ <= simt::warp_size) return own;
    if (simt_.lane() == 0) shared_.of_warp[simt_.warp()] = own;
    simt_.sync_block();
    const int warps = threads_ / simt::warp_size;
    const int first = number() * warps;
    own = static_cast<V>(shared_.of_warp[first]);
    for (int w = 1; w < warps; ++w) own = op(own, static_cast<V>(shared_.of_warp[first + w]));
    simt_.sync_block();
    return own;
  }
  template <class V>
  KSELECT_HD V greatest(V own) {
    return join(own, [](V a, V b) { return a < b ? b : a; });
  }
  template <class V>
  KSELECT_HD V least(V own) {
    return join(own, [](V a, V b) { return a < b ? a : b; });
  }
  template <class V>
  KSELECT_HD V sum(V own) {
    return join(own, [](V a, V b) { return static_cast<V>(a + b); });
  }

 private:
  Simt& simt_;
  team_storage& shared_;
  int threads_;
};

}  // namespace kselect::ordered
