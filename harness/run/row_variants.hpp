#pragma once
// The rows of a cell group, in several sets, so that no run finds what an earlier run left in a
// cache or in a table of its own.
//
// Each round reads other rows at another address. Small inputs get new rows before every round, in
// rotating buffers: at least three, and on a GPU enough to exceed its L2 (for batches). Large
// inputs have one buffer. Its rows are new before every round if the backend makes them, which
// takes no longer than a selection. Otherwise they are made once, and the record says so.

#include <memory>
#include <optional>
#include <vector>

#include "harness/harness.hpp"
#include "harness/plan/input.hpp"
#include "harness/run/trial.hpp"
#include "runtime/backend/host_memory.hpp"

namespace kselect::harness {

// Whether two problems have the same rows. Rows depend on k only for the distribution kth_ties.
bool same_rows(const workload& a, const workload& b);

class row_variants {
 public:
  row_variants(const input_source& source, backend& place) : source_(source), place_(place) {}

  // Makes the rows of p ready; keeps the present ones if p has the same. Throws
  // error(failure::resources) if they do not fit.
  void require(const workload& p);
  // Frees all rows.
  void forget();

  // Whether every round gets new rows.
  bool fresh() const;
  // Times of computing the distances, if the rows are distances: samples on the same vectors.
  const std::optional<stage_times>& distances() const { return distances_; }
  // Times of copying distances to the host, if the backend computes them.
  const std::optional<stage_times>& to_host() const { return to_host_; }
  int copies() const { return static_cast<int>(sets_.size()); }
  // Variant 0: the rows that the problem names.
  const input_rows& first() { return of_round(0); }
  // May be changed until the next call (input_rows::write), then restored.
  input_rows& of_round(int round);
  // The rows of all sets, for a batch.
  std::vector<const input_rows*> all() const;

 private:
  struct row_set {
    host_buffer host;      // if the host makes the rows
    device_buffer device;  // if the backend makes them
    std::unique_ptr<input_rows> rows;
    int variant = 0;
  };
  bool made_at_place() const { return source_.makes_rows_at(place_); }
  int copies_for(const workload& p) const;
  std::optional<distance_stage> make(row_set& set, int variant);
  void time_distances(const distance_stage& first);

  const input_source& source_;
  backend& place_;
  std::optional<workload> problem_;
  std::vector<row_set> sets_;
  std::optional<stage_times> distances_, to_host_;
};

}  // namespace kselect::harness
