#pragma once
// Searches by kernels (search/metric/kernels/search.cuh), on a GPU or on fibers. For each batch of
// queries it uploads them, launches the kernels and downloads the answers.

#include <algorithm>
#include <limits>
#include <numeric>

#include "kselect/simt/device_size.hpp"
#include "kselect/simt/fiber.hpp"
#include "search/metric/answers.hpp"
#include "search/metric/device_groups.hpp"
#include "search/metric/device_index.hpp"
#include "search/metric/kernels/hit_order.cuh"
#include "search/metric/kernels/search.cuh"
#include "search/metric/kernels/start.hpp"
#include "search/metric/sets.hpp"
#include "search/metric/watched_queries.hpp"
#include "search/seconds.hpp"

namespace kselect::search::metric_space {

template <metric M>
class device_searcher final : public searcher {
 public:
  device_searcher(const typename M::set& objects, const index_data& index, backend& place,
                  const search_options& options)
      : place_(place),
        options_(options),
        objects_(objects.count()),
        index_(place, objects, index, options.distribution, options.walk),
        exhaustive_(index.kind == index_kind::none),
        on_(place.executor()),
        kept_(place),
        pages_(std::make_shared<answer_pages>(place)),
        hits_room_(options.hits_room) {
    if (on_.fiber == nullptr) return;
    fiber_ = *on_.fiber;
    fiber_.counters = &counters_;
    on_.fiber = &fiber_;
  }
  ~device_searcher() override { pages_->retire(); }
  device_searcher(const device_searcher&) = delete;
  device_searcher& operator=(const device_searcher&) = delete;

  knn_answer knn(const object_set& queries, std::int64_t k, const radius_plan& plan,
                 search_report& report) override {
    require_k(k, objects_);
    knn_answer answer{.k = k,
                      .objects = answer_vector<std::int64_t>(own_pages<std::int64_t>()),
                      .distances = answer_vector<float>(own_pages<float>())};
    each_batch(set_of<M>(queries), report, [&](const asked& batch, std::int64_t first) {
      // Within the time, as all of a search is.
      if (first == 0) resize(answer, queries.count() * k);
      const found_on_device out = room_for(batch.count() * k);
      if (options_.radius == radius_rule::decreasing && !exhaustive_) {
        shrink(batch, k, out, report);
      } else if (!nearest_in_groups(batch, k, out, report)) {
        enlarge(batch, k, plan, out, report);
      }
      const auto part = [&](auto& all) {
        return std::span(all).subspan(static_cast<std::size_t>(first * k),
                                      static_cast<std::size_t>(batch.count() * k));
      };
      const seconds_into copying(report.answer_seconds);
      out.objects.download(part(answer.objects));
      out.distances.download(part(answer.distances));
    });
    return answer;
  }

  range_answer range(const object_set& queries, float radius, search_report& report) override {
    require_radius(radius);
    const typename M::set& set = set_of<M>(queries);
    range_answer answer{.starts = {0},
                        .objects = answer_vector<std::int64_t>(own_pages<std::int64_t>()),
                        .distances = answer_vector<float>(own_pages<float>())};
    each_batch(set, report, [&](const asked& batch, std::int64_t) {
      if (within_groups(batch, radius, answer, report)) return;
      index_.visit([&]<class Walk>(const typename Walk::args& walk) {
        find_hits<Walk>(batch, walk, radius, answer, report);
      });
    });
    return answer;
  }

 private:
  template <class T>
  answer_allocator<T> own_pages() const {
    return answer_allocator<T>(pages_);
  }
  found_on_device room_for(std::int64_t entries) {
    return {.objects = {kept_, entries}, .distances = {kept_, entries}};
  }

  static void resize(knn_answer& answer, std::int64_t entries) {
    answer.objects.resize(static_cast<std::size_t>(entries));
    answer.distances.resize(static_cast<std::size_t>(entries));
  }

  // A batch of queries.
  struct asked {
    const typename M::set& set;
    uploaded<M> on_device;

    std::int64_t count() const { return set.count(); }
  };
  asked upload(const typename M::set& batch, search_report& report) {
    const seconds_into copying(report.upload_seconds);
    return {batch, uploaded<M>(kept_, batch)};
  }

  // Calls f(batch, number of its first query) for each batch of queries.
  template <class F>
  void each_batch(const typename M::set& queries, search_report& report, const F& f) {
    counters_ = {};
    const seconds_since start;
    const std::int64_t count = queries.count();
    batch_sizes sizes(options_.batch, options_.watch != nullptr);
    for (std::int64_t first = 0; first < count;) {
      const seconds_since begin;
      const std::int64_t size = sizes.next(count - first);
      if (size == count) {
        f(upload(queries, report), first);  // no copy of them all
      } else {
        std::vector<std::int64_t> numbers(static_cast<std::size_t>(size));
        std::iota(numbers.begin(), numbers.end(), first);
        const typename M::set batch = queries.gather(numbers);
        f(upload(batch, report), first);
      }
      sizes.took(begin.get());
      first += size;
      ++report.batches;
      if (options_.watch == nullptr) continue;
      options_.watch->reached(first);
      if (first < count) options_.watch->end_if_stopping();
    }
    report.seconds = start.get();
    if (on_.fiber != nullptr) {
      report.counters = counters_;
      report.done = work{.distances = counters_[simt::counter::distances],
                         .clusters = counters_[simt::counter::clusters],
                         .pruned = counters_[simt::counter::pruned]};
    }
  }

  // Times the kernels that f(enqueue) enqueues, and waits for them. `enqueue` is called with the
  // grid and the arguments of a kernel, its template parameter.
  template <class F>
  void time(search_report& report, const F& f) {
    const timed_run run = place_.time([&] {
      status outcome;
      f([&]<class Kernel>(const simt::grid& shape, const typename Kernel::args& args) {
        if (!outcome.ok()) return;
        outcome = start<Kernel>(on_, shape, args);
        ++report.launches;
      });
      return outcome;
    });
    require_ok(run.outcome);
    report.kernel_seconds += run.nanoseconds * 1e-9;
  }
  template <class Kernel>
  void launch(std::int64_t blocks, const shared_layout& layout, const typename Kernel::args& args,
              search_report& report) {
    time(report, [&](const auto& enqueue) {
      enqueue.template operator()<Kernel>({blocks, options_.block_threads, layout.bytes}, args);
    });
  }

  template <class Kernel, class Walk>
  shared_layout layout_of(const asked& batch, const typename Walk::args& walk,
                          std::int64_t k) const {
    const auto layout = shared_layout::of(k, Walk::measured(walk), M::staged_bytes(batch.set));
    require_shared(place_.description(), layout.bytes + sizeof(typename Kernel::storage),
                   "a smaller k, larger clusters or fewer pivots take less");
    return layout;
  }

  std::int64_t blocks_for(std::int64_t queries) const {
    return resident_blocks(place_.description(), options_.block_threads, queries);
  }

  knn_job<M> job_of(const uploaded<M>& queries, const shared_layout& layout, std::int64_t k,
                    const device_array<entry>& heaps, const found_on_device& out) const {
    return {.queries = queries.view,
            .layout = layout,
            .heaps = heaps.view(),
            .k = static_cast<int>(k),
            .objects = out.objects.view(),
            .distances = out.distances.view()};
  }

  device_array<entry> heaps_for(std::int64_t blocks, std::int64_t k) {
    return {kept_, blocks * heap_reduction::heap_entries(options_.block_threads, k)};
  }

  void enlarge(const asked& batch, std::int64_t k, const radius_plan& plan,
               const found_on_device& out, search_report& report) {
    index_.visit([&]<class Walk>(const typename Walk::args& walk) {
      using kernel = knn_kernel<M, Walk>;
      const shared_layout layout = layout_of<kernel, Walk>(batch, walk, k);
      const std::int64_t blocks = blocks_for(batch.count());
      const device_array<entry> heaps = heaps_for(blocks, k);
      const device_array<std::uint32_t> pending(kept_, batch.count());
      device_array<std::uint32_t> pending_count(kept_, 1);
      pending_count.fill(0);
      typename kernel::args args{.job = job_of(batch.on_device, layout, k, heaps, out),
                                 .walk = walk,
                                 .count = batch.count(),
                                 .radius = plan.first,
                                 .step = plan.step,
                                 .last = false,
                                 .pending = pending.view(),
                                 .pending_count = pending_count.view()};
      if (exhaustive_) args.radius = std::numeric_limits<float>::infinity();
      launch<kernel>(blocks, layout, args, report);
      args.count = pending_count.download()[0];
      if (args.count == 0) return;
      report.pending += args.count;
      args.radius = plan.first + plan.step;
      args.last = true;
      launch<kernel>(std::min(blocks, args.count), layout, args, report);
    });
  }

  void shrink(const asked& batch, std::int64_t k, const found_on_device& out,
              search_report& report) {
    using kernel = shrinking_kernel<M>;
    const auto walk = index_.clusters();
    const shared_layout layout = layout_of<kernel, cluster_walk<M>>(batch, walk, k);
    const std::int64_t blocks = blocks_for(batch.count());
    const device_array<entry> heaps = heaps_for(blocks, k);
    launch<kernel>(blocks, layout,
                   {.job = job_of(batch.on_device, layout, k, heaps, out),
                    .walk = walk,
                    .count = batch.count()},
                   report);
  }

  template <class Walk>
  void find_hits(const asked& batch, const typename Walk::args& walk, float radius,
                 range_answer& answer, search_report& report) {
    using kernel = range_kernel<M, Walk>;
    const shared_layout layout = layout_of<kernel, Walk>(batch, walk, 0);
    collect_hits(batch.count(), answer, report, [&](const hit_list& hits) {
      launch<kernel>(blocks_for(batch.count()), layout,
                     {.queries = batch.on_device.view,
                      .layout = layout,
                      .walk = walk,
                      .count = batch.count(),
                      .radius = radius,
                      .hits = hits},
                     report);
    });
  }

  // Hits of all queries of a batch together.
  struct hit_memory {
    hit_memory(kept_memory& place, std::int64_t of_queries, std::int64_t room)
        : queries(place, room),
          ranks(place, room),
          of_query(place, of_queries),
          entries(place, room),
          count(place, 1) {
      of_query.fill(0);
      count.fill(0);
    }
    hit_list list() const {
      return {queries.view(), ranks.view(), entries.view(), of_query.view(), count.view()};
    }

    device_array<std::uint32_t> queries, ranks, of_query;
    device_array<entry> entries;
    device_array<std::uint64_t> count;
  };

  // search(hits) launches kernels, once more if there were more hits than room. A later search
  // begins with the room that this one needed.
  template <class Search>
  void collect_hits(std::int64_t queries, range_answer& answer, search_report& report,
                    const Search& search) {
    for (std::int64_t room = hits_room_;;) {
      hit_memory found(kept_, queries, room);
      const simt::counters before = counters_;
      search(found.list());
      const auto count = static_cast<std::int64_t>(found.count.download()[0]);
      if (count <= room) {
        hits_room_ = room;
        return append_in_order(std::move(found), count, answer, report);
      }
      room = count;
      counters_ = before;  // only the launches whose hits are kept count
    }
  }

  // Hits of a query that a kernel sorts. Of a hundredth of Images few queries have more.
  static constexpr int most_sorted = 8192;

  void append_in_order(hit_memory hits, std::int64_t count, range_answer& answer,
                       search_report& report) {
    const std::vector<std::int64_t> starts = starts_of(hits.of_query.download());
    const device_array<std::int64_t> begins(kept_, std::span<const std::int64_t>(starts));
    const device_array<entry> by_query(kept_, count);
    // Once hits lie by query, the memory that they were found in is free.
    const auto queries = hits.queries.view();
    const auto entries = hits.entries.view();
    const found_on_device found{.objects = {std::move(hits.entries), count},
                                .distances = {std::move(hits.queries), count}};
    const device& where = place_.description();
    const int threads = simt::block_threads(where, hit_order_kernel<M>::max_threads);
    int room = most_sorted;
    while (hit_order_kernel<M>::shared_bytes(room) > where.shared_bytes) room /= 2;
    const auto blocks = [&](std::int64_t pieces) {
      return resident_blocks(where, threads, pieces);
    };
    time(report, [&](const auto& enqueue) {
      enqueue.template operator()<hits_by_query_kernel<M>>(
          {blocks((count + threads - 1) / threads), threads},
          {.queries = {queries.data, count},
           .ranks = {hits.ranks.view().data, count},
           .entries = {entries.data, count},
           .starts = begins.view(),
           .by_query = by_query.view()});
      enqueue.template operator()<hit_order_kernel<M>>(
          {blocks(std::ssize(starts) - 1), threads, hit_order_kernel<M>::shared_bytes(room)},
          {.by_query = by_query.view(),
           .starts = begins.view(),
           .room = room,
           .objects = found.objects.view(),
           .distances = found.distances.view()});
    });
    const seconds_into copying(report.answer_seconds);
    append_hits(found, starts, room, where.threads, answer);
  }

  // Both return false, and do nothing, if this is no search by groups (group_search::fits).
  bool nearest_in_groups(const asked& batch, std::int64_t k, const found_on_device& out,
                         search_report& report) {
    return searched_in_groups(batch, k, [&](const auto& search) {
      const auto memory = search.memory_from(kept_);
      time(report, [&](const auto& enqueue) {
        search.nearest(batch.on_device, memory, out.objects.view(), out.distances.view(), enqueue);
      });
    });
  }

  bool within_groups(const asked& batch, float radius, range_answer& answer,
                     search_report& report) {
    return searched_in_groups(batch, 0, [&](const auto& search) {
      collect_hits(batch.count(), answer, report, [&](const hit_list& hits) {
        const auto memory = search.memory_from(kept_);
        time(report, [&](const auto& enqueue) {
          search.within(batch.on_device, memory, radius, hits, enqueue);
        });
      });
    });
  }

  template <class F>
  bool searched_in_groups(const asked& batch, std::int64_t k, const F& f) {
    if (!index_.in_groups()) return false;
    return index_.visit_groups([&]<class Walk>(const near_objects<M>& near, const Walk& walk) {
      const group_search<M, Walk> search(place_.description(), near, walk, batch.set, k,
                                         options_.block_threads);
      if (search.fits()) f(search);
      return search.fits();
    });
  }

  backend& place_;
  search_options options_;
  std::int64_t objects_;
  device_index<M> index_;
  bool exhaustive_;
  executor on_;
  simt::fiber_options fiber_;
  simt::counters counters_;
  kept_memory kept_;
  std::shared_ptr<answer_pages> pages_;
  std::int64_t hits_room_;
};

}  // namespace kselect::search::metric_space
