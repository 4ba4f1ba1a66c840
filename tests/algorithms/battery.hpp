#pragma once
// The shared battery: what every registered algorithm is tested with, on every executor it runs on,
// the moment its file exists. Its author writes none of this.
//
// Each case is a problem with its rows; the answer is proven by the certificate, within guard
// bands, on poisoned outputs (harness/run/trial.hpp). What an algorithm does not take is not asked
// of it, but every problem that check_support admits must come out right.

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

// One algorithm in one place.
struct contender {
  const registered* entry;
  executor_kind executor;
  friend void PrintTo(const contender& c, std::ostream* out) {
    *out << c.entry->algorithm->name << " on " << to_string(c.executor);
  }
};

// Every algorithm on every executor (or on the one given) it declares, also on those this machine
// lacks: their tests are skipped with the reason.
std::vector<contender> contenders(std::optional<executor_kind> only = {});
std::string test_name(const testing::TestParamInfo<contender>& info);

class Battery : public testing::TestWithParam<contender> {
 protected:
  void SetUp() override;

  const algorithm& entry() const { return *GetParam().entry->algorithm; }
  bool on(executor_kind kind) const { return GetParam().executor == kind; }
  backend& place() { return *place_; }

  // The problem as this algorithm reads it: its first layout and types where `p` has others.
  workload admitted(workload p) const;
  // That, and the same with a 16-bit type if one is declared; two of them take turns.
  std::vector<workload> admitted_and_narrow(const workload& p);
  // All combinations of payload, direction, index type, dtype and layout that are declared, on the
  // sizes and distribution of `p`.
  std::vector<workload> variants(const workload& p) const;
  // Runs on generated rows and proves the answer; problems beyond the declared limits are passed
  // over, and counted.
  void prove(const workload& p);
  // The same on given rows; `shift` elements lie before the first, so that the input is misaligned.
  void prove_on(const workload& p, std::span<const std::byte> rows, std::int64_t shift = 0);

  // Whether the next of a test's problems is this entry's to prove. Always, except on fibers, where
  // the entries of one file - variants of the same code - share the longest tests: each takes every
  // r-th problem, so that together they prove all (r is at most 6). KSELECT_BATTERY=full: always;
  // KSELECT_BATTERY=shared: as on fibers, for a GPU whose time is short;
  // KSELECT_BATTERY=sample:SEED: each test on fibers runs on one entry of every file alone, which
  // the seed picks.
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
