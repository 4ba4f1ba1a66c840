#pragma once
// A comparison in formats for people and programs.

#include <string>
#include <vector>

#include "harness/compare/comparison.hpp"
#include "kselect/contract.hpp"

namespace kselect::harness::compare {

// The content of every format, already as text.
struct report_row {
  const compared_cell* cell;
  std::string verdict, algorithm, problem;
  std::string base, now;       // times; "" if there is none
  std::string change, bounds;  // "+8.2 %", "[+7.9, +8.5] %"
  std::string note;            // the reason, a raised limit, changed work
};

struct report {
  std::string headline;              // "2 regressions, 6 same"
  std::vector<std::string> method;   // how the verdict was reached, one sentence each
  std::vector<std::string> notes;    // obstacles and doubts
  std::string decides;               // the command that decides; "" if turns would change nothing
  std::vector<std::string> summary;  // the mean ratio of each algorithm
  std::string common;                // what all problems share; omitted from the rows
  std::vector<report_row> rows;      // worst first
  std::size_t hidden = 0;            // rows left out: same and added, unless all are requested
};

report make_report(const comparison& compared, bool all);

std::string table_report(const comparison& compared, bool all);
std::string markdown_report(const comparison& compared, bool all);
// One page without scripts or further files. Always shows all cells.
std::string html_report(const comparison& compared);
// {"schema":"kselect-comparison/1",...}: always all cells, with ratios as numbers.
std::string json_report(const comparison& compared);

// 0, or the code of the worst verdict in `fail_on`. From worst to least: 1 regression, 2 not
// comparable, 4 missing, 3 inconclusive.
int exit_code(const comparison& compared, enum_set<verdict> fail_on);

}  // namespace kselect::harness::compare
