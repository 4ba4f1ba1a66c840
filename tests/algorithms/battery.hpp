#pragma once
// The shared battery: tests that run on every registered algorithm and every executor it declares.
// A new algorithm needs no test code of its own for this.
//
// Each case is a problem and its rows. Outputs are poisoned and lie between guard bands, and the
// certificate proves the answer (harness/run/trial.hpp). Problems that check_support rejects are
// skipped; every problem that it admits must have a right answer.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/workload/workload.hpp"
#include "kselect/registry.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::battery {
using namespace runtime;
using namespace harness;

// One algorithm on one executor.
struct contender {
  const registered* entry;
  executor_kind executor;
  friend void PrintTo(const contender& c, std::ostream* out) {
    *out << c.entry->algorithm->name << " on " << to_string(c.executor);
  }
};

// Every algorithm on every executor it declares, or only on the given one. Executors that this
// machine lacks are included; their tests are skipped with the reason.
std::vector<contender> contenders(std::optional<executor_kind> only = {});
std::string test_name(const testing::TestParamInfo<contender>& info);

class Battery : public testing::TestWithParam<contender> {
 protected:
  void SetUp() override;

  const algorithm& entry() const { return *GetParam().entry->algorithm; }
  bool on(executor_kind kind) const { return GetParam().executor == kind; }
  backend& place() { return *place_; }

  // `p` in the algorithm's own layout and types, where the algorithm does not support those of `p`.
  workload admitted(workload p) const;
  // That problem, and the same with a 16-bit type if one is declared; two such types take turns.
  std::vector<workload> admitted_and_narrow(const workload& p);
  // All declared combinations of payload, direction, index type, dtype and layout, with the sizes
  // and distribution of `p`.
  std::vector<workload> variants(const workload& p) const;
  // Runs on generated rows and proves the answer. Problems beyond the declared limits are skipped
  // and counted.
  void prove(const workload& p);
  // The same on given rows. `shift` elements precede the first row, so that the input is
  // misaligned.
  void prove_on(const workload& p, std::span<const std::byte> rows, std::int64_t shift = 0);

  // Whether this entry proves the next problem of a test. Always true, except on fibers: there the
  // entries of one file, which are variants of the same code, share the longest tests. Each proves
  // every r-th problem (r is at most 6), so together they prove all. KSELECT_BATTERY changes this:
  // `full`: always true; `shared`: as on fibers, also on a GPU; `sample:SEED`: each test on fibers
  // runs on only one entry of every file, which the seed picks.
  bool mine() { return problem_number_++ % share_ == offset_; }

  int proven_ = 0, beyond_limits_ = 0;

 private:
  void choose_share();
  bool sampled_out() const;

  int problem_number_ = 0, share_ = 1, offset_ = 0;
  int narrow_turn_ = 0;
  std::unique_ptr<backend> place_;
};

// Tests that only one executor can run.
class FiberBattery : public Battery {};
class GpuBattery : public Battery {};

}  // namespace kselect::battery
