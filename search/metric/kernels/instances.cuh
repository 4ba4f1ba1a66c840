#pragma once
// All kernels of one metric: a .cu file includes this and uses KSELECT_METRIC_KERNELS(my_metric).

#include "kselect/simt/launch.hpp"
#include "search/metric/kernels/build.cuh"
#include "search/metric/kernels/build_within.cuh"
#include "search/metric/kernels/group_approach.cuh"
#include "search/metric/kernels/group_search.cuh"
#include "search/metric/kernels/hit_order.cuh"
#include "search/metric/kernels/query_order.cuh"
#include "search/metric/kernels/search.cuh"
#include "search/metric/kernels/start.hpp"

namespace kselect::search::metric_space {

template <class Kernel>
status start(const executor& where, const simt::grid& shape, const typename Kernel::args& args) {
  return simt::launch<Kernel>(where, shape, args);
}

// Kernels for long objects, of a metric that has some. The functions name the kernels, so an
// explicit instantiation of the struct instantiates these.
template <class M>
struct long_kernels {};
template <class M>
requires requires(const typename M::view& objects) { M::is_long(objects); }
struct long_kernels<M> {
  static auto approach() { return &start<approach_kernel<M, many_at_once>>; }
  static auto nearest() { return &start<nearest_kernel<M, long_job<M>>>; }
  static auto within() { return &start<within_group_kernel<M, long_job<M>>>; }
  static auto nearest_by_pivots() { return &start<nearest_kernel<M, long_pivot_job<M>>>; }
  static auto within_by_pivots() { return &start<within_group_kernel<M, long_pivot_job<M>>>; }
};

}  // namespace kselect::search::metric_space

#define KSELECT_METRIC_KERNEL(...)                                                  \
  template kselect::status                                                          \
  kselect::search::metric_space::start<kselect::search::metric_space::__VA_ARGS__>( \
      const kselect::executor&, const kselect::simt::grid&,                         \
      const kselect::search::metric_space::__VA_ARGS__::args&);

#define KSELECT_METRIC_WALK(M, WALK)                                           \
  KSELECT_METRIC_KERNEL(knn_kernel<M, kselect::search::metric_space::WALK<M>>) \
  KSELECT_METRIC_KERNEL(range_kernel<M, kselect::search::metric_space::WALK<M>>)

#define KSELECT_METRIC_KERNELS(M)                                                                  \
  KSELECT_METRIC_WALK(M, exhaustive_walk)                                                          \
  KSELECT_METRIC_WALK(M, cluster_walk)                                                             \
  KSELECT_METRIC_WALK(M, listed_cluster_walk)                                                      \
  KSELECT_METRIC_WALK(M, element_walk)                                                             \
  KSELECT_METRIC_WALK(M, pivot_walk)                                                               \
  KSELECT_METRIC_KERNEL(approach_kernel<M>)                                                        \
  KSELECT_METRIC_KERNEL(order_kernel<M>)                                                           \
  KSELECT_METRIC_KERNEL(hits_by_query_kernel<M>)                                                   \
  KSELECT_METRIC_KERNEL(hit_order_kernel<M>)                                                       \
  KSELECT_METRIC_KERNEL(nearest_kernel<M>)                                                         \
  KSELECT_METRIC_KERNEL(within_group_kernel<M>)                                                    \
  KSELECT_METRIC_KERNEL(nearest_kernel<M, kselect::search::metric_space::pivot_group_job<M>>)      \
  KSELECT_METRIC_KERNEL(within_group_kernel<M, kselect::search::metric_space::pivot_group_job<M>>) \
  template struct kselect::search::metric_space::long_kernels<M>;                                  \
  KSELECT_METRIC_KERNEL(shrinking_kernel<M>)                                                       \
  KSELECT_METRIC_KERNEL(measure_kernel<M>)                                                         \
  KSELECT_METRIC_KERNEL(close_kernel<M>)                                                           \
  KSELECT_METRIC_KERNEL(farthest_kernel<M>)                                                        \
  KSELECT_METRIC_KERNEL(within_kernel<M>)                                                          \
  KSELECT_METRIC_KERNEL(pivot_kernel<M>)
