#pragma once
// Ordered selection: how the kernels after the member's are launched.

#include <algorithm>

#include "algorithms/ordered_select/finish.cuh"
#include "kselect/algorithm.hpp"
#include "kselect/simt/device_size.hpp"

namespace kselect::ordered {

struct finishing {
  bool settles;          // ties, of elements that the member left in the workspace
  bool at_once;          // and sorts in the same kernel
  bool given_in_order;   // by the member, which leaves ties alone
  std::uint8_t extra;    // elements beyond k that the member gives
  int team;              // threads that sort a run
  int threads;           // of a block
  int settling_threads;  // of a block that settles ties of answers of several runs, or NaN
  int runs_of_block;
  position run, runs;
  position parts;        // of a row whose ties are looked for
  std::int64_t looking;  // blocks that do, and threads of one
  int looking_threads;
};

template <class T, bool indexed>
std::size_t shared_bytes(int threads) {
  return exchange_memory<key_word<T>, indexed>::bytes(threads);
}

// The largest team whose runs fit into shared memory.
template <class T, bool indexed>
int largest_team(const device& where) {
  constexpr int least = simt::warp_size;
  const std::size_t most = where.shared_bytes == 0 ? 48 << 10 : where.shared_bytes;
  constexpr std::size_t own = sizeof(typename finish_kernel<T, indexed, indexed>::storage);
  for (int team = simt::block_threads(where, simt::thread_limit); team > least; team /= 2) {
    if (shared_bytes<T, indexed>(team) + own <= most) return team;
  }
  return least;
}

inline int settling_threads(const device& where) { return simt::block_threads(where, 512); }

// Parts of a row: of 4,096 elements on a GPU, of less where rows are few, but of 512 at least.
// Eight for each warp that a GPU holds are enough, and bound the memory for their ties.
inline position parts_of(const problem& p, const device& where) {
  constexpr std::int64_t most = 512;
  const std::int64_t warps = std::max<std::int64_t>(simt::resident_warps(where, 32), 1);
  if (p.q >= warps) return 1;  // ties of one part are written as they are found
  const std::int64_t usual = simt::long_row(where) / 4, least = usual / 8;
  const std::int64_t share = std::clamp(p.q * p.n / warps, least, usual);
  return static_cast<position>(
      std::max<std::int64_t>(std::min({p.n / share, 8 * warps / p.q, most}), 1));
}

// A warp for each part, but no more blocks than fill a GPU.
inline void share_ties(const problem& p, const device& where, finishing& how) {
  how.parts = parts_of(p, where);
  how.looking_threads = simt::block_threads(where, tie_kernel<float>::max_threads);
  const std::int64_t warps = how.looking_threads / simt::warp_size;
  how.looking = std::min((p.q * how.parts + warps - 1) / warps,
                         simt::resident_blocks(where, how.looking_threads));
}

// Short answers share a block if enough blocks are left to fill the card.
inline int runs_of_block(std::int64_t runs, int teams, const device& where) {
  const std::int64_t blocks = 8 * std::max(where.multiprocessors, 1);
  return static_cast<int>(std::clamp<std::int64_t>(runs / blocks, 1, teams));
}

// `extra`: elements beyond k that the member gives, to settle ties; 0: none are settled.
template <class T, bool indexed>
finishing finishing_of(const problem& p, const device& where, position extra) {
  finishing chosen{};
  chosen.settles = extra != 0;
  chosen.extra = static_cast<std::uint8_t>(extra);
  chosen.settling_threads = settling_threads(where);
  const int largest = largest_team<T, indexed>(where);
  chosen.team = 1;
  while (chosen.team < largest && each * chosen.team < p.k) chosen.team *= 2;
  chosen.run = static_cast<position>(each * chosen.team);
  chosen.runs = (static_cast<position>(p.k) + chosen.run - 1) / chosen.run;
  if (chosen.settles) share_ties(p, where, chosen);
  chosen.at_once = chosen.settles && chosen.runs == 1 && !p.ragged();
  chosen.threads = std::max(chosen.team, simt::block_threads(where, 128));
  chosen.runs_of_block = runs_of_block(p.q * chosen.runs, chosen.threads / chosen.team, where);
  return chosen;
}

}  // namespace kselect::ordered
