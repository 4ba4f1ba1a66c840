#pragma once
// Quick multi-select in the paper's form: the paper's own driver. "Each iteration of the while loop
// incurs a GPU kernel launch for partitioning with pivot selection", here for all rows at once. The
// if-then-else of Algorithm 1 runs on the CPU.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "algorithms/quick_multi_select/paper_kernels.cuh"
#include "kselect/simt/transfer.hpp"

namespace kselect::qms_paper {

// A workspace: what the kernels see, and for each row room for what a launch is given and gives.
template <class T, bool indexed>
struct workspace_view {
  memory_view<T, indexed> memory;
  simt::global<reference> stacks;          // qms-warp, qms-block: [Q][K]
  simt::global<job<order_key_t<T>>> jobs;  // the others: qms-host
  simt::global<partition_result<order_key_t<T>>> results;
  simt::global<run_of_answer> runs;
};

template <class T, bool indexed>
class host_driver {
 public:
  using key = order_key_t<T>;

  host_driver(int threads, const workspace_view<T, indexed>& w, const executor& on)
      : threads_(threads), w_(w), on_(on) {
    const auto& rows = w.memory.rows;
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      searches_.push_back(start_of_search<key>(rows.n, rows.k));
      next_.push_back(0);
    }
  }

  status run() {
    std::vector<job<key>> jobs = not_found();
    while (!jobs.empty()) {
      if (status failed = iteration(jobs); !failed.ok()) return failed;
      jobs = not_found();
    }
    for (std::size_t row = 0; row < searches_.size(); ++row) {
      const search<key>& s = searches_[row];
      keep(row, {s.active.begin, s.active.begin + s.wanted, s.active.where});
    }
    return write_answers();
  }

 private:
  std::vector<job<key>> not_found() const {
    std::vector<job<key>> jobs;
    for (std::size_t row = 0; row < searches_.size(); ++row) {
      if (!found(searches_[row])) jobs.push_back({static_cast<std::int64_t>(row), searches_[row]});
    }
    return jobs;
  }

  simt::grid a_block_each(std::size_t count) const {
    return {static_cast<std::int64_t>(count), threads_};
  }

  status iteration(const std::vector<job<key>>& jobs) {
    std::vector<partition_result<key>> results(jobs.size());
    status done = simt::copy(on_, w_.jobs.data, jobs.data(), jobs.size() * sizeof(job<key>));
    if (done.ok()) {
      done = simt::launch<iteration_kernel<T, indexed>>(
          on_, a_block_each(jobs.size()),
          {w_.memory, {w_.jobs.data, static_cast<std::int64_t>(jobs.size())}, w_.results});
    }
    if (done.ok()) {
      done = simt::copy(on_, results.data(), w_.results.data,
                        results.size() * sizeof(partition_result<key>));
    }
    if (!done.ok()) return done;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto row = static_cast<std::size_t>(jobs[i].row);
      const auto [pivot, less] = results[i];
      keep(row, decide(searches_[row], pivot, static_cast<position>(less)));
    }
    return {};
  }

  // Adds a reference to the row's answer. All rows have one stack.
  void keep(std::size_t row, const reference& part) {
    if (part.size() == 0) return;
    stack_.push_back({static_cast<std::int64_t>(row), part, next_[row]});
    next_[row] += part.size();
  }

  // Copies what the stack refers to. The workspace has room for one reference a row, so there may
  // be several launches.
  status write_answers() {
    const auto most = static_cast<std::size_t>(w_.runs.size);
    for (std::size_t first = 0; first < stack_.size(); first += most) {
      const std::size_t count = std::min(most, stack_.size() - first);
      status done =
          simt::copy(on_, w_.runs.data, stack_.data() + first, count * sizeof(run_of_answer));
      if (done.ok()) {
        done = simt::launch<answer_kernel<T, indexed>>(
            on_, a_block_each(count),
            {w_.memory, {w_.runs.data, static_cast<std::int64_t>(count)}});
      }
      if (!done.ok()) return done;
    }
    return {};
  }

  int threads_;
  const workspace_view<T, indexed>& w_;
  const executor& on_;
  std::vector<search<key>> searches_;  // of each row
  std::vector<position> next_;         // of each row: the place of the next reference's elements
  std::vector<run_of_answer> stack_;
};

}  // namespace kselect::qms_paper
