#pragma once
// The rows of a cell group: several sets of them, so that no run finds what an earlier one left in
// a cache or in a table of its own.
//
// Each round works on other rows at another address. Small inputs get new rows before every round,
// from as many buffers as it takes to exceed a GPU's L2 (for batches) and at least three. Rows that
// are larger than any cache have one buffer: new rows before every round where the place makes them
// itself, which takes it no longer than a selection; else they are made once, and a record says so.

#include <memory>
#include <optional>
#include <vector>

#include "harness/harness.hpp"
#include "harness/plan/input.hpp"
#include "harness/run/trial.hpp"
#include "runtime/backend/host_memory.hpp"

namespace kselect::harness {

class row_variants {
 public:
  row_variants(const input_source& source, backend& place) : source_(source), place_(place) {}

  // Makes the rows of p ready; what is there is kept if it has the same rows. Throws
  // error(failure::resources) if not even one set fits.
  void require(const workload& p);
  // Makes the next require() produce all rows anew.
  void forget();

  // Whether every round has rows of its own.
  bool fresh() const;
  // What distances took, if the rows are distances: several times on the same vectors.
  const std::optional<stage_times>& distances() const { return distances_; }
  // What a copy of such rows to the host takes, where they were made elsewhere.
  const std::optional<stage_times>& to_host() const { return to_host_; }
  int copies() const { return static_cast<int>(sets_.size()); }
  // The rows that the problem names.
  const input_rows& first() { return of_round(0); }
  const input_rows& of_round(int round);
  // All that are there now, for a batch.
  std::vector<const input_rows*> all() const;

 private:
  struct row_set {
    host_buffer host;      // where the host makes the rows
    device_buffer device;  // where the place does
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
