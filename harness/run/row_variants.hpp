#pragma once
// The rows of a cell group: several sets of them, so that no run finds what an earlier one left in
// a cache or in a table of its own.
//
// Each round works on other rows at another address. Small inputs get new rows before every round,
// from as many buffers as it takes to exceed a GPU's L2 (for batches) and at least three; rows that
// are larger than any cache and slow to make are made once, and a record says so.

#include <memory>
#include <optional>
#include <vector>

#include "harness/backend/host_memory.hpp"
#include "harness/run/input.hpp"
#include "harness/run/trial.hpp"

namespace kselect {

class row_variants {
 public:
  row_variants(const input_source& source, backend& place) : source_(source), place_(place) {}

  // Makes the rows of p ready; what is there is kept if it has the same rows. Throws
  // error(failure::resources) if not even one set fits.
  void require(const problem& p);
  // Makes the next require() produce all rows anew.
  void forget();

  // Whether every round has rows of its own.
  bool fresh() const;
  int copies() const { return static_cast<int>(sets_.size()); }
  // The rows that the problem names.
  const input_rows& first() { return of_round(0); }
  const input_rows& of_round(int round);
  // All that are there now, for a batch.
  std::vector<const input_rows*> all() const;

 private:
  struct row_set {
    host_buffer host;
    std::unique_ptr<input_rows> rows;
    int variant = 0;
  };
  int copies_for(const problem& p) const;
  void make(row_set& set, int variant);

  const input_source& source_;
  backend& place_;
  std::optional<problem> problem_;
  std::vector<row_set> sets_;
};

}  // namespace kselect
