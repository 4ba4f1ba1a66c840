// Truncated bitonic sort: Sismanis, Pitsianis & Sun, "Parallel Search of k-Nearest Neighbors with
// Synchronous Operations", HPEC 2012; the baseline of Komarov et al. (Fig. 7 in PLOS ONE, 6 in the
// preprint) and Tang et al. (Table I, "TBS"). This entry follows what the two say of it.
//
// A row is cut into truncations of K elements (k rounded up to a power of two). A bitonic network
// sorts each truncation. Two sorted ones are joined by keeping the better element at each place,
// which leaves the K best of both as a bitonic list; this is merged. No step depends on the data,
// so the time is the same for every input.
//
// One block a row. A tile of several truncations is sorted and reduced to one in shared memory,
// which is merged with the best of the tiles before. The answer is sorted.
//
// Cost: each element is read once and takes part in log2 K (log2 K + 1) / 4 + log2 K
// compare-exchanges in shared memory. Shared memory for two tiles, no workspace.
//
// Their program stops at k = 512. We go up to 2048, where the sort alone takes 66 steps. Ours alone
// are the tiles, the number of threads and the order in which truncations are merged. A tile has at
// least 1024 elements, so that small k fill a block. Steps within 64 elements synchronise only the
// warp.
//
//   +t128, +t512, +t1024   threads a block, by default 256
//
// +t1024 has as many threads as a block of quick multi-select may have. Each of them compares one
// pair of places, so its tile has at least 2048 elements. Blocks of 1024 threads leave 64 registers
// a thread, and the kernel needs 24 at most (compute capability 9.0). The plan says where shared
// memory does not hold the lists.
//
// Entries: truncated-bitonic

#include <algorithm>

#include "kernels/bitonic.cuh"
#include "kselect/simt/shared_fit.hpp"

namespace kselect::truncated {
namespace {

using kernels::answer;
using kernels::answer_view;
using kernels::item;
using kernels::position;
using kernels::rows_view;
using kernels::shared_list;

inline constexpr std::int64_t most_k = 2048;

position truncation_of(std::int64_t k) {
  return static_cast<position>(std::max<std::int64_t>(kernels::next_power_of_two(k), 32));
}
// At least a pair of places for each thread.
position tile_of(std::int64_t k, int threads) {
  return std::max({2 * truncation_of(k), position{1024}, static_cast<position>(2 * threads)});
}

template <class T, answer what>
struct kernel {
  static constexpr int max_threads = 1024;
  using key = order_key_t<T>;
  static constexpr bool indexed = what == answer::pairs;
  using list = shared_list<key, indexed>;

  struct storage {};
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    position truncation, tile;
  };

  // `best`, sorted, and a tile behind it, in dynamic shared memory.
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    auto* const start = static_cast<unsigned char*>(simt.dynamic_shared());
    const list best = list::at(start, a.truncation);
    const list tile = list::at(start + a.truncation * list::item_bytes, a.tile);
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      const auto elements = kernels::row_at(simt, a.matrix, row);
      for (position first = 0; first < a.matrix.n; first += a.tile) {
        load(simt, a, elements, first, tile);
        reduce(simt, a, tile);
        take(simt, a, first == 0, tile, best);
      }
      write(simt, a, row, best);
      simt.sync_block();  // the next row uses the same lists
    }
  }

 private:
  template <class Simt>
  KSELECT_HD static void load(Simt& simt, const args& a, simt::global<const T> row, position first,
                              const list& tile) {
    for (auto i = static_cast<position>(simt.thread()); i < a.tile;
         i += static_cast<position>(simt.threads())) {
      auto loaded = kernels::padding<key, indexed>();
      if (first + i < a.matrix.n) {
        loaded = {selection_key(simt.load(row, first + i), a.matrix.wanted), first + i};
      }
      tile.set(i, loaded);
    }
  }

  // Sorts the truncations of a tile and reduces them to the first, which is then ascending. The
  // distance between surviving truncations doubles with each level.
  template <class Simt>
  KSELECT_HD static void reduce(Simt& simt, const args& a, const list& tile) {
    const position run = a.truncation;
    const int run_bits = simt.ffs(run) - 1;
    kernels::network_on(simt, tile, a.tile).sort_runs(run);
    int level = simt.ffs(run);  // 2^level = 2 * apart
    for (position apart = run; apart < a.tile; apart *= 2, ++level) {
      const position left = a.tile >> level << run_bits;  // places that survive this level
      const auto place = [&](position i) { return (i >> run_bits << level) + (i & (run - 1)); };
      for (auto i = static_cast<position>(simt.thread()); i < left;
           i += static_cast<position>(simt.threads())) {
        const auto other = tile.get(place(i) + apart);
        if (before(other, tile.get(place(i)))) tile.set(place(i), other);
      }
      kernels::network_on(simt, tile, left, place).merge_runs(run);
    }
  }

  // Merges the tile's best into those of the tiles before.
  template <class Simt>
  KSELECT_HD static void take(Simt& simt, const args& a, bool is_first, const list& tile,
                              const list& best) {
    for (auto i = static_cast<position>(simt.thread()); i < a.truncation;
         i += static_cast<position>(simt.threads())) {
      const auto entering = tile.get(is_first ? i : a.truncation - 1 - i);
      if (is_first || before(entering, best.get(i))) best.set(i, entering);
    }
    if (!is_first) kernels::network_on(simt, best, a.truncation).merge_runs(a.truncation);
    simt.sync_block();  // the tile is loaded next
  }

  template <class Simt>
  KSELECT_HD static void write(Simt& simt, const args& a, std::int64_t row, const list& best) {
    for (auto i = static_cast<position>(simt.thread()); i < a.matrix.k;
         i += static_cast<position>(simt.threads())) {
      const auto found = best.get(i);
      kernels::write_answer<what>(simt, a.out, row * a.matrix.k + i, found.key, found.at,
                                  a.matrix.wanted);
    }
  }
};

template <class T, answer what>
std::size_t shared_bytes(const problem& p, int threads) {
  return (truncation_of(p.k) + tile_of(p.k, threads)) * kernel<T, what>::list::item_bytes;
}

template <class T, answer what, int threads>
status start(const problem& p, const io& buffers, std::span<std::byte>, const executor& on) {
  const std::int64_t blocks = std::min<std::int64_t>(p.q, 1 << 24);
  return simt::launch<kernel<T, what>>(
      on, {blocks, threads, shared_bytes<T, what>(p, threads)},
      {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers), truncation_of(p.k),
       tile_of(p.k, threads)});
}

template <int threads>
call_plan plan_for(const problem& p, const device& where) {
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    const support fits = simt::fits_shared(where, shared_bytes<T, what>(p, threads));
    return fits ? call_plan::of<&start<T, what, threads>>(p) : call_plan::refused(fits.reason);
  });
}

template <int threads>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "truncated bitonic sort", "Sismanis et al. 2012");
  a.promises.ordering = output_ordering::stable_sorted;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.determinism = determinism::gpu_to_gpu;
  a.promises.limits.max_k = most_k;
  a.plan = &plan_for<threads>;
  return a;
}

constexpr std::array variants = {
    entry<256>("truncated-bitonic"),
    entry<128>("truncated-bitonic+t128"),
    entry<512>("truncated-bitonic+t512"),
    entry<1024>("truncated-bitonic+t1024"),
};

}  // namespace
}  // namespace kselect::truncated

namespace kselect::entries {

std::span<const algorithm> truncated_bitonic() { return truncated::variants; }

}  // namespace kselect::entries
