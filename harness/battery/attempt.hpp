#pragma once
// What the cases of the battery share: one contender, an open executor, and the proof of a problem.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/battery/battery.hpp"
#include "harness/run/input_rows.hpp"
#include "harness/workload/workload.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

// Thrown at the first problem that fails; run_case() catches it.
struct refuted {
  std::string problem, reason;
};

class battery_attempt {
 public:
  battery_attempt(const battery_case& one, const contender& c, const battery_mode& mode);

  const algorithm& entry() const { return *contender_.entry->algorithm; }
  executor_kind executor() const { return contender_.executor; }
  bool on(executor_kind kind) const { return contender_.executor == kind; }
  // Opened by the first use. A GPU's problems are large, so all CPU threads make and prove them.
  runtime::backend& place();

  // `p` in the algorithm's own layout and types, where the algorithm does not support those of `p`.
  workload admitted(workload p);
  // `p`, no larger than the entry's limits.
  workload limited(workload p) const;
  // Halves n of `p` until the algorithm takes it: an entry may take shorter rows of some types. k
  // stays; where n would fall below k, returns `p`.
  workload shortened(workload p);
  // All three of these. Counts and leaves out what the algorithm does not take even so.
  std::optional<workload> fitted(workload p);
  // That problem, and the same with another type than the two of 32 and 64 bits that most entries
  // have, if one is declared; such types take turns.
  std::vector<workload> admitted_and_narrow(const workload& p);
  // All declared combinations of payload, direction, index type, dtype and layout, with the sizes
  // and distribution of `p`. Types that entries take as words of one width (kselect/dtypes.hpp)
  // take turns: each combination has one of them.
  std::vector<workload> variants(const workload& p);
  // Runs on generated rows and proves the answer. Problems beyond the declared limits are skipped
  // and counted. Throws refuted.
  void prove(const workload& p);
  // The same on given rows. `shift` elements precede the first row, so that the input is
  // misaligned.
  void prove_on(const workload& p, std::span<const std::byte> rows, std::int64_t shift = 0);
  // The same on ragged rows, whose arrays are of the problem's types.
  void prove_ragged(const workload& p, std::span<const std::byte> rows, const row_places& arrays);
  // Counts a problem that the case itself has proven.
  void count_proven() { ++result.proven; }

  // Whether this entry proves the next problem of a case (battery_mode).
  bool mine() { return takes(problem_number_++ % share_ == offset_); }
  // The same for cases whose problems a family does not share.
  bool due() { return takes(due_number_++ % step_ == begin_); }
  // False if all problems so far are of other entries.
  bool has_problems() const { return has_problems_; }
  bool sampled_out() const { return sampled_out_; }

  case_result result;

 private:
  bool takes(bool own) {
    has_problems_ = has_problems_ || own;
    return own;
  }
  void prove_input(const workload& p, const input_rows& input, const std::string& title);

  contender contender_;
  int problem_number_ = 0, share_ = 1, offset_ = 0;
  int due_number_ = 0, step_ = 1, begin_ = 0;  // of every:N
  int narrow_turn_ = 0, word_turn_ = 0;
  bool sampled_out_ = false, has_problems_ = false;
  std::unique_ptr<runtime::backend> place_;
};

}  // namespace kselect::harness
