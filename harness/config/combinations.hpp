#pragma once
// The combinations of a sweep's axes, one after another. The sweep is never held in memory: a
// position is one index for each axis.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/config/cells.hpp"

namespace kselect::harness {

// A number of rows, their length, and the values of k to select from them.
struct rows_to_try {
  std::int64_t n, q;
  std::span<const std::int64_t> k;
};

class combinations {
 public:
  // `config` must outlive this. Throws error(failure::usage) if `dataset` is missing for a dataset
  // input or given without one, if "all" repeats a value, or if an exclusion matches no
  // combination.
  explicit combinations(const sweep_config& config,
                        std::optional<dataset_sizes> dataset = std::nullopt);
  combinations(const combinations&) = delete;
  combinations& operator=(const combinations&) = delete;

  const sweep_config& config() const { return config_; }

  // The rows are numbered in their order. All of a grid's have the same values of k.
  std::int64_t rows() const;
  rows_to_try row(std::int64_t number) const;
  // n x q x k are all combinations of these three lists; row n_index * q.size() + q_index.
  bool is_grid() const;
  std::span<const std::int64_t> lengths() const { return lengths_; }
  std::span<const std::int64_t> counts() const { return counts_; }

  // Without indices the index type has no effect: its values would give the same problem.
  std::span<const index_type> indices(payload p) const;

  bool is_excluded(const workload& p) const;
  // Whether the constraints hold. Throws error(failure::usage) if one has no result.
  bool fulfils_constraints(const workload& p) const;
  // Throws error(failure::usage) for a combination that cannot be run; see expand().
  void check_possible(const workload& p) const;

  // Goes through the combinations that are left, in the order of expand().
  class walk {
   public:
    explicit walk(const combinations& all);
    // The next one; null after the last. Throws error(failure::usage) as expand() does.
    const workload* next();

   private:
    bool advance();

    const combinations& all_;
    workload at_;
    bool begun_ = false;
    rows_to_try row_;
    std::int64_t row_number_ = 0;
    std::size_t type_ = 0, row_lengths_ = 0, mask_ = 0, nan_ = 0, distribution_ = 0, layout_ = 0,
                direction_ = 0, payload_ = 0, index_ = 0, k_ = 0;
  };

 private:
  void require_no_idle_exclusion() const;
  bool matches_any(const exclusion& e) const;
  void check_size(const workload& p) const;
  void check_lengths(const workload& p) const;
  void check_dataset(const workload& p) const;
  void check_rows(const workload& p) const;
  void require_type_of_file() const;

  const sweep_config& config_;
  const dataset_input* dataset_;
  const rows_input* file_;
  dataset_sizes most_;  // the longest possible row and the largest possible number of queries
  std::vector<std::int64_t> lengths_, counts_;
  std::vector<std::int64_t> shape_k_;  // of config.axes.shapes, which listed_ points to
  std::vector<rows_to_try> listed_;
};

// What to count.
struct counted_for {
  const expression* where = nullptr;  // only those for which it holds
  // Layouts by number, and the layout that is read instead. Combinations that differ in layout
  // alone and read the same one count once. Empty: each is read as it is.
  std::vector<layout> reads;
  auto operator<=>(const counted_for&) const = default;
};
// How many combinations are left. None is visited: constraints are evaluated once for each pair
// (n, k) and (q, k), so 10^9 combinations take under a second. A constraint or `where` that uses n,
// q and k together is evaluated for each combination, about 2 x 10^7 a second. Throws
// error(failure::usage) for what walk::next() would throw.
std::int64_t count_left(const combinations& all, const counted_for& what = {});

}  // namespace kselect::harness
