#pragma once
// Cell groups: all algorithms on one problem and one executor. They take turns when they are timed.

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "harness/plan/plan.hpp"

namespace kselect::harness {

// Whether two cells belong to one group: one executor, and one problem with its settings, except
// for the layout.
bool same_group(const cell& a, const cell& b);

// Makes groups of the cells of a plan, which come in its order. A plan keeps the cells of one
// problem together, so the cells that are held are those of one group for each executor.
class grouping {
 public:
  // `next` overwrites its argument with the next cell; false after the last.
  explicit grouping(std::function<bool(cell&)> next) : read_(std::move(next)) {}

  // The cells of the next group; empty after the last. Groups are in the order of their first
  // cells.
  std::vector<cell> next();

 private:
  std::function<bool(cell&)> read_;
  std::deque<std::vector<cell>> open_;
  bool more_ = true;
};

// Numbers the groups, from 0, of cells that come in a plan's order. Holds a cell for each executor.
class group_numbers {
 public:
  std::int64_t of(const cell& c);
  std::int64_t count() const { return count_; }

 private:
  std::deque<std::pair<cell, std::int64_t>> recent_;
  std::int64_t count_ = 0;
};

}  // namespace kselect::harness
