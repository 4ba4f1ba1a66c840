#pragma once
// Measures two builds in turns: A, B, B, A, A, B, ... Each turn is a process of its own that
// measures the whole sweep once. So drift over minutes (clocks, temperature, neighbours) and
// differences between processes (addresses, pages) affect both sides alike.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kselect::harness::compare {

struct alternation {
  std::filesystem::path base, now;  // the two kselect programs
  std::filesystem::path config;
  std::filesystem::path directory;              // gets base/, new/ and rounds/ with the turns
  int rounds = 11;                              // turns per side
  bool resume = false;                          // finish an interrupted alternation
  std::vector<std::string> arguments;           // passed on to every `kselect run`
  std::function<void(const std::string&)> say;  // called before each turn
};

struct alternated_runs {
  std::filesystem::path base, now;  // run directories; their rounds are the turns, in pairs
};

// Throws error(failure::usage) if a program refuses the config or ends abnormally, and
// error(failure::output) if the directory exists already (without `resume`).
alternated_runs alternate(const alternation& what);

}  // namespace kselect::harness::compare
