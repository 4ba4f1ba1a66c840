#pragma once
// Two builds measured in turns: A, B, B, A, A, B, ... Each turn is a process of its own that
// measures the whole sweep once, so that what drifts over minutes (clocks, temperature, neighbours)
// and what differs from process to process (addresses, pages) meets both sides alike.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kselect::harness::compare {

struct alternation {
  std::filesystem::path base, now;  // the two kselect programs
  std::filesystem::path config;
  std::filesystem::path directory;              // gets base/, new/ and the turns under rounds/
  int rounds = 11;                              // turns of each side
  bool resume = false;                          // finish what an interrupted alternation left
  std::vector<std::string> arguments;           // passed on to every `kselect run`
  std::function<void(const std::string&)> say;  // told before each turn
};

struct alternated_runs {
  std::filesystem::path base, now;  // run directories whose rounds are the turns, in pairs
};

// Throws error(failure::usage) if a program refuses the config or ends abnormally, and
// error(failure::output) if the directory is there already (without `resume`).
alternated_runs alternate(const alternation& what);

}  // namespace kselect::harness::compare
