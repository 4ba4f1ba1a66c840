#pragma once
// A recorded run in other programs' formats. The journal stays the source of truth: every export is
// made from it alone, at any time. Cells without a time (failed, unsupported) are in `csv` and
// `markdown` with their reason, and left out of the other two, whose readers take any number for a
// time.

#include <string>

#include "harness/compare/recorded_run.hpp"

namespace kselect::harness {

// The name of a cell among Google Benchmark's, the same in `export` and in kselect-gbench:
// "qms-warp/cuda/float32/smallest/q:16/n:1048576/k:32/values_and_indices/int32/row_major/uniform/
// seed:42". It never changes meaning; Google Benchmark itself appends "/manual_time".
std::string benchmark_name(const workload& p, std::string_view algorithm,
                           std::string_view executor);

// Google Benchmark's JSON, schema version 1, read by its compare.py and by github-action-benchmark:
// a repetition a round (real_time in us, cpu_time the same: there is no other time of a round),
// then mean, median, stddev and cv. Everything else is under "kselect", which other readers pass
// over.
std::string gbench_export(const compare::recorded_run& run);

// github-action-benchmark's customSmallerIsBetter: the median of each cell in us, with half the
// width of its 95 % interval as range.
std::string ci_export(const compare::recorded_run& run);

// One line a cell, a header first; times in nanoseconds.
std::string csv_export(const compare::recorded_run& run);

// A table of medians, a row a problem and a column an algorithm, then the cells without a time.
std::string markdown_export(const compare::recorded_run& run);

}  // namespace kselect::harness
