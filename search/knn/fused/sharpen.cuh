#pragma once
// A sharper threshold from the survivors of a first pass: the score of rank `rank` among them, if
// it is beyond the present threshold. One block a query.

#include "kernels/bitonic.cuh"
#include "kselect/order.hpp"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

struct sharpen_kernel {
  static constexpr int max_threads = 128;
  static constexpr std::uint32_t room = 1024;  // more survivors are left out: that admits more
  struct storage {
    std::uint32_t keys[room];
    std::uint32_t count;
  };
  struct args {
    survivor_lists lists;
    std::uint32_t rank;  // from 1
    global<float> thresholds;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::int64_t row = simt.block();
    if (simt.thread() == 0) shared.count = 0;
    simt.sync_block();
    for (int split = simt.warp(); split < a.lists.splits; split += simt.warps()) {
      const std::int64_t segment = row * a.lists.splits + split;
      const auto all = static_cast<int>(simt.load(a.lists.counts, segment));
      const int kept = all < a.lists.room ? all : a.lists.room;
      for (int i = simt.lane(); i < kept; i += simt::warp_size) {
        const std::uint32_t place = simt.atomic_add(shared.count, 1);
        if (place >= room) break;
        const float score = simt.load(a.lists.scores, segment * a.lists.room + i);
        shared.keys[place] = selection_key(score, direction::largest);
      }
    }
    simt.sync_block();
    const std::uint32_t count = shared.count < room ? shared.count : room;
    if (count < a.rank) return;  // the whole block
    const auto size = static_cast<kernels::position>(kernels::next_power_of_two(count));
    for (std::uint32_t i = count + static_cast<std::uint32_t>(simt.thread()); i < size;
         i += static_cast<std::uint32_t>(simt.threads())) {
      shared.keys[i] = ~0U;
    }
    const kernels::shared_list<std::uint32_t, false> list{shared.keys, nullptr};
    kernels::network_on(simt, list, size).sort_runs(size);
    if (simt.thread() != 0) return;
    const auto score = from_selection_key<float>(shared.keys[a.rank - 1], direction::largest);
    if (score > simt.load(a.thresholds, row)) simt.store(a.thresholds, row, score);
  }
};

}  // namespace kselect::search::fused
