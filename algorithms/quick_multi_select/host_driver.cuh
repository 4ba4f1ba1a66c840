#pragma once
// Quick multi-select: Algorithm 1 as the paper prints it, with a launch a round and decisions on
// the host.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "algorithms/quick_multi_select/kernels.cuh"
#include "kselect/simt/transfer.hpp"

namespace kselect::qms {

// The parts of a workspace.
template <class T, bool indexed>
struct workspace_view {
  matrix_view<T, indexed> matrix;
  simt::global<job<order_key_t<T>>> jobs;  // in the host form
  simt::global<round_result<order_key_t<T>>> results;
};

template <class T, bool indexed>
class host_driver {
 public:
  using key = order_key_t<T>;

  host_driver(pivot_rule rule, int warps, const workspace_view<T, indexed>& w, const executor& on)
      : rule_(rule), w_(w), on_(on), threads_(warps * simt::warp_size) {
    for (std::int64_t row = 0; row < w.matrix.rows; ++row) {
      rows_.push_back({row, initial_state<key>(w.matrix.n, w.matrix.k), 0});
    }
  }

  status run() {
    std::vector<job<key>> active = unsettled();
    while (!active.empty()) {
      if (status failed = round(active); !failed.ok()) return failed;
      active = unsettled();
    }
    // Writes the kept parts of all rows, and their settled rests.
    if (status failed = write(kept_); !failed.ok()) return failed;
    return write(rows_);
  }

 private:
  std::vector<job<key>> unsettled() const {
    std::vector<job<key>> active;
    for (const job<key>& row : rows_) {
      if (!settled(row.s, threads_, rule_)) active.push_back(row);
    }
    return active;
  }

  simt::grid shape(std::size_t jobs) const {
    return {static_cast<std::int64_t>(jobs), threads_,
            stage_bytes<key, indexed>(threads_ / simt::warp_size)};
  }

  // One launch partitions every active row once; then the host decides.
  status round(const std::vector<job<key>>& active) {
    std::vector<round_result<key>> results(active.size());
    status done = simt::copy(on_, w_.jobs.data, active.data(), active.size() * sizeof(job<key>));
    if (done.ok()) {
      done = simt::launch<round_kernel<T, indexed>>(
          on_, shape(active.size()), {w_.matrix, rule_, {w_.jobs.data, w_.jobs.size}, w_.results});
    }
    if (done.ok()) {
      done = simt::copy(on_, results.data(), w_.results.data,
                        results.size() * sizeof(round_result<key>));
    }
    if (!done.ok()) return done;
    for (std::size_t i = 0; i < active.size(); ++i) {
      job<key>& row = rows_[static_cast<std::size_t>(active[i].row)];
      const reference left =
          decide(row.s, results[i].pivot, static_cast<position>(results[i].left));
      if (left.size() == 0) continue;
      // A run that is wanted as a whole is a settled state.
      job<key> kept = row;
      kept.s.active = left;
      kept.s.wanted = left.size();
      kept_.push_back(kept);
      row.next += left.size();
    }
    return {};
  }

  status write(const std::vector<job<key>>& jobs) {
    const auto most = static_cast<std::size_t>(w_.jobs.size);
    for (std::size_t first = 0; first < jobs.size(); first += most) {
      const std::size_t count = std::min(most, jobs.size() - first);
      status done = simt::copy(on_, w_.jobs.data, jobs.data() + first, count * sizeof(job<key>));
      if (done.ok()) {
        done = simt::launch<write_kernel<T, indexed>>(on_, shape(count),
                                                      {w_.matrix, {w_.jobs.data, w_.jobs.size}});
      }
      if (!done.ok()) return done;
    }
    return {};
  }

  pivot_rule rule_;
  const workspace_view<T, indexed>& w_;
  const executor& on_;
  int threads_;
  std::vector<job<key>> rows_;  // the present state of each row
  std::vector<job<key>> kept_;  // left parts that are wanted as a whole
};

}  // namespace kselect::qms
