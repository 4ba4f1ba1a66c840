#pragma once
// A comparison as people and programs read it.

#include <string>
#include <vector>

#include "harness/compare/comparison.hpp"
#include "kselect/contract.hpp"

namespace kselect::harness::compare {

// What every format shows, already in words.
struct report_row {
  const compared_cell* cell;
  std::string verdict, algorithm, problem;
  std::string base, now;       // times; "" where there is none
  std::string change, bounds;  // "+8.2 %", "[+7.9, +8.5] %"
  std::string note;            // the reason, a raised limit, changed work
};

struct report {
  std::string headline;              // "2 regressions, 6 same"
  std::vector<std::string> method;   // how the verdict came about, a sentence each
  std::vector<std::string> notes;    // obstacles and doubts
  std::vector<std::string> summary;  // the mean ratio of each algorithm
  std::string common;                // what all problems share, left out of the rows
  std::vector<report_row> rows;      // worst first
  std::size_t hidden = 0;            // rows not shown: same and added, unless all are asked for
};

report make_report(const comparison& compared, bool all);

std::string table_report(const comparison& compared, bool all);
std::string markdown_report(const comparison& compared, bool all);
// One page without scripts or files beside it; always all cells.
std::string html_report(const comparison& compared);
// {"schema":"kselect-comparison/1",...}: always all cells, ratios as numbers.
std::string json_report(const comparison& compared);

// 0, or the code of the worst verdict among those that shall fail: 1 regression, 2 not comparable,
// 4 missing, 3 inconclusive, in this order.
int exit_code(const comparison& compared, enum_set<verdict> fail_on);

}  // namespace kselect::harness::compare
