#pragma once
// Which objects of an SSS-Index a group has to look at. Those of a pivot's cell lie by their
// distance to it. So the ones that this pivot keeps from no query of the group lie together: a
// window.

#include "search/metric/kernels/groups.cuh"
#include "search/metric/kernels/near_objects.cuh"

namespace kselect::search::metric_space {

template <class M>
using pivot_group_job = group_job<M, pivot_args<M>>;  // the table: [pivots][objects]

// A group's distances to the pivots: [pivots][warps], so that a pivot's are neighbours.
template <class M, class Simt>
KSELECT_HD float* pivot_distances(const group<M, Simt, pivot_group_job<M>>& g) {
  return g.template of_clusters<float>();
}

template <class M, class Simt>
class pivot_windows {
 public:
  using group_type = group<M, Simt, pivot_group_job<M>>;
  struct window {
    int first, last;  // objects [first, last)
  };
  static constexpr std::size_t bytes_of_pivot = sizeof(window);

  KSELECT_HD explicit pivot_windows(const group_type& g) : g_(g) {}

  // All threads. A barrier must follow.
  KSELECT_HD void find(const group_storage<M>& shared, const separation& apart) const {
    for (int p = g_.simt.thread(); p < g_.job.walk.count; p += g_.simt.threads()) {
      const window cell = cell_of(p), found = window_of(p, cell, shared, apart);
      const int outside = (cell.last - cell.first) - (found.last - found.first);
      g_.simt.count(simt::counter::pruned, std::int64_t{g_.active} * outside);
      windows()[p] = found;
    }
  }

  // The windows as pieces, in the order of a search. The window of the nearest pivot is the first
  // two pieces: from the objects that are about as far from it as the group's first query, and
  // around to there. Near objects are mostly among these, and those that are found first bound the
  // radius.
  KSELECT_HD int pieces() const { return g_.job.walk.count + 1; }
  KSELECT_HD window piece(int number, int nearest, int middle) const {
    if (number >= 2) return windows()[number - 2 < nearest ? number - 2 : number - 1];
    const window all = windows()[nearest];
    return number == 0 ? window{middle, all.last} : window{all.first, middle};
  }

  // Where the first piece begins: a multiple of a warp's objects, or the window's begin.
  KSELECT_HD int middle(int nearest) const {
    const float away = pivot_distances(g_)[nearest * g_.simt.warps()];
    const int at = first_where(nearest, cell_of(nearest), [&](float d) { return d >= away; });
    const window all = windows()[nearest];
    const int before = (at - 2 * g_.simt.threads()) / simt::warp_size * simt::warp_size;
    return before < all.first ? all.first : before < all.last ? before : all.last;
  }

 private:
  KSELECT_HD window* windows() const {
    return reinterpret_cast<window*>(pivot_distances(g_) + g_.job.walk.count * g_.simt.warps());
  }
  KSELECT_HD window cell_of(int p) const {
    const auto& cells = g_.job.walk.cells;
    return {static_cast<int>(g_.simt.load(cells, p)), static_cast<int>(g_.simt.load(cells, p + 1))};
  }
  // The first object of a cell for which f(distance to the pivot) holds; it holds for later ones.
  template <class F>
  KSELECT_HD int first_where(int p, const window& cell, const F& f) const {
    const std::int64_t base = p * g_.job.walk.objects.count;
    return static_cast<int>(
        first_of(g_.simt, g_.job.walk.table, base + cell.first, base + cell.last, f) - base);
  }

  KSELECT_HD window window_of(int p, const window& cell, const group_storage<M>& shared,
                              const separation& apart) const {
    float least = INFINITY, most = -INFINITY;
    for (int q = 0; q < g_.active; ++q) {
      const float d = pivot_distances(g_)[p * g_.simt.warps() + q];
      const float reach = apart.reach(d, shared.radius[q]);
      if (!(d + reach < INFINITY)) return cell;
      least = fminf(least, d - reach);
      most = fmaxf(most, d + reach);
    }
    const auto& table = g_.job.walk.table;
    const std::int64_t base = p * g_.job.walk.objects.count;
    // A distance that overflowed tells nothing. These objects are last.
    if (cell.first == cell.last || !(g_.simt.load(table, base + cell.last - 1) < INFINITY)) {
      return cell;
    }
    const int first = first_where(p, cell, [&](float d) { return d >= least; });
    const int last = first_where(p, cell, [&](float d) { return d > most; });
    const int aligned = first / simt::warp_size * simt::warp_size;
    return {aligned < cell.first ? cell.first : aligned, last};
  }

  const group_type& g_;
};

}  // namespace kselect::search::metric_space
