#pragma once
// Exports a recorded run to other programs' formats, from its journal alone. Cells without a time
// (failed, unsupported) are in `csv`, `markdown` and `nvbench` with their reason. The other two
// formats leave them out, because their readers would take any number for a time.

#include <string>

#include "harness/compare/recorded_run.hpp"

namespace kselect::harness {

// A cell's name in Google Benchmark's format, the same in `export` and kselect-gbench:
// "qms-warp/cuda/float32/smallest/q:16/n:1048576/k:32/values_and_indices/int32/row_major/uniform/
// seed:42". Its meaning never changes. Google Benchmark appends "/manual_time".
std::string benchmark_name(const workload& p, std::string_view algorithm,
                           std::string_view executor);

// Google Benchmark's JSON, schema version 1, for its compare.py and github-action-benchmark. Each
// round is a repetition (real_time in us; cpu_time is the same, since a round has no other time).
// Then come mean, median, stddev and cv. Everything else is under "kselect", which other readers
// ignore.
std::string gbench_export(const compare::recorded_run& run);

// github-action-benchmark's customSmallerIsBetter: the median of each cell in us. The range is half
// the width of its 95 % interval.
std::string ci_export(const compare::recorded_run& run);

// nvbench's JSON, file version 1.0.0, for its nvbench_compare.py: a benchmark an entry, a state a
// cell. Times are in seconds, of the single samples. Cells without a time are skipped states.
std::string nvbench_export(const compare::recorded_run& run);

// CSV with a header and one line per cell; times in nanoseconds.
std::string csv_export(const compare::recorded_run& run);

// Medians, one row per problem and one column per algorithm; then the cells without a time.
std::string markdown_export(const compare::recorded_run& run);

}  // namespace kselect::harness
