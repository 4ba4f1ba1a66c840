#pragma once
// The shared battery: cases that every registered algorithm must pass on every executor it
// declares. A new algorithm needs no test code of its own for this. `kselect test` and the
// GoogleTest program kselect_battery run the same cases.
//
// A case is a set of problems and their rows. Outputs are poisoned and lie between guard bands, and
// the certificate proves each answer (harness/run/trial.hpp). Problems that check_support rejects
// are skipped; every problem that it admits must have a right answer.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kselect/registry.hpp"

namespace kselect::harness {

// One algorithm on one executor.
struct contender {
  const registered* entry;
  executor_kind executor;
};

// Every algorithm on every executor it declares, or only on the given one. Executors that this
// machine lacks are included; why_not() has the reason.
std::vector<contender> contenders(std::optional<executor_kind> only = {});

class battery_attempt;

struct battery_case {
  std::string_view name;              // "BoundarySizes"
  std::string_view what;              // "n and k around warps, blocks and powers of two"
  std::optional<executor_kind> only;  // the one executor that it runs on; empty: every one
  void (*run)(battery_attempt&);
};

std::span<const battery_case> battery_cases();

// Why a contender cannot run here at all; empty if it can.
std::string why_not(const contender& c);

// Which problems of a case an entry proves. Variants of one file are the same code, so on fibers,
// which are slow, they share the longest cases: each of r entries (at most 6) proves every r-th
// problem, and together they prove all.
//   ""           shared on fibers, all elsewhere
//   full         all, everywhere
//   shared       shared everywhere
//   sample:SEED  on fibers only one entry of a file runs a case; the seed picks it
//   every:N      of what "" gives to an entry, every N-th problem; entries begin at different ones
using battery_mode = std::string;

// That of the environment variable KSELECT_BATTERY, or "". Throws failure::usage if it is no mode.
battery_mode battery_mode_of_environment();

struct case_result {
  int proven = 0;         // problems with a right answer
  int beyond_limits = 0;  // problems that the entry does not take
  std::string skipped;    // why the case was not run; empty if it was
  std::string problem;    // the first problem that failed; empty if none did
  std::string reason;     // what was wrong with it
  bool passed() const { return reason.empty(); }
};

// Runs one case on a contender, up to the first failure. Throws nothing of the entry's.
case_result run_case(const battery_case& one, const contender& c, const battery_mode& mode);

}  // namespace kselect::harness
