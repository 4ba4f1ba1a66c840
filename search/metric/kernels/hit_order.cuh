#pragma once
// Puts the hits of a range search in the order of an answer: by query, then by distance and object.
// `M`: one kernel for each metric, because each one's kernels are compiled by themselves.

#include "kernels/bitonic.cuh"
#include "search/metric/kernels/hit_list.cuh"

namespace kselect::search::metric_space {

// Gives each query's hits to neighbouring places.
template <class M>
struct hits_by_query_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    simt::global<const std::uint32_t> queries, ranks;  // as in a hit_list
    simt::global<const entry> entries;                 // [hits]
    simt::global<const std::int64_t> starts;           // [Q + 1] where each query's hits begin
    simt::global<entry> by_query;                      // [hits]
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    for (std::int64_t h = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         h < a.entries.size; h += stride) {
      const std::int64_t start = simt.load(a.starts, simt.load(a.queries, h));
      simt.store(a.by_query, start + simt.load(a.ranks, h), simt.load(a.entries, h));
    }
  }
};

// Sorts each query's hits, one query a block at a time. A list of more than `room` hits stays as it
// is: the host sorts it.
template <class M>
struct hit_order_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    simt::global<const entry> by_query;       // [hits]
    simt::global<const std::int64_t> starts;  // [Q + 1]
    int room;                                 // entries in dynamic shared memory, a power of two
    simt::global<std::int64_t> objects;       // [hits]
    simt::global<float> distances;            // [hits]
  };
  static std::size_t shared_bytes(int room) {
    return static_cast<std::size_t>(room) * sizeof(entry);
  }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    for (std::int64_t q = simt.block(); q + 1 < a.starts.size; q += simt.blocks()) {
      const std::int64_t first = simt.load(a.starts, q);
      const std::int64_t count = simt.load(a.starts, q + 1) - first;
      if (count > a.room) {
        for (std::int64_t i = simt.thread(); i < count; i += simt.threads()) {
          put(simt, a, first + i, simt.load(a.by_query, first + i));
        }
      } else if (count > 0) {
        sort(simt, a, first, static_cast<int>(count));
      }
    }
  }

 private:
  template <class Simt>
  KSELECT_HD static void put(Simt& simt, const args& a, std::int64_t place, entry e) {
    simt.store(a.objects, place, object_of(e));
    simt.store(a.distances, place, distance_of(e));
  }

  template <class Simt>
  KSELECT_HD static void sort(Simt& simt, const args& a, std::int64_t first, int count) {
    auto* const list = static_cast<entry*>(simt.dynamic_shared());
    const bool few = count <= simt.threads();
    const int padded = few ? count : static_cast<int>(kernels::next_power_of_two(count));
    for (int i = simt.thread(); i < padded; i += simt.threads()) {
      list[i] = i < count ? simt.load(a.by_query, first + i) : ~entry{0};
    }
    if (few) {
      simt.sync_block();
      rank(simt, a, first, count, list);
    } else {
      const kernels::shared_list<entry, false> keys{list, nullptr};
      const auto size = static_cast<kernels::position>(padded);
      kernels::network_on(simt, keys, size).sort_runs(size);  // with barriers
      for (int i = simt.thread(); i < count; i += simt.threads()) put(simt, a, first + i, list[i]);
    }
    simt.sync_block();  // the next list takes this one's place
  }
  // Few entries: each is compared with all. An object is no hit twice, so no two are equal.
  template <class Simt>
  KSELECT_HD static void rank(Simt& simt, const args& a, std::int64_t first, int count,
                              const entry* list) {
    if (simt.thread() >= count) return;
    const entry own = list[simt.thread()];
    int less = 0;
    for (int i = 0; i < count; ++i) less += list[i] < own ? 1 : 0;
    put(simt, a, first + less, own);
  }
};

}  // namespace kselect::search::metric_space
