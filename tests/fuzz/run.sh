#!/usr/bin/env bash
# Fuzzes every reader by the clock. What is found stays in build/fuzz/corpus, so that a later run goes on from there; an
# input that fails a target is kept in build/fuzz/found.
# Usage: tests/fuzz/run.sh SECONDS [TARGET...]
#   SECONDS  for each target; 600 is two hours for all twelve
set -euo pipefail
seconds=${1:?"usage: tests/fuzz/run.sh SECONDS [TARGET...]"}
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake -S tests/fuzz -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ >/dev/null
cmake --build build/fuzz
cd build/fuzz
mkdir -p found
[ $# -gt 0 ] || set -- $(cd corpus && ls)
failed=0
for target; do
  # The longest input is CMake's.
  length=$(sed -n "s/^kselect_fuzz($target [a-z_]* \([0-9]*\).*/\1/p" ../../tests/fuzz/CMakeLists.txt)
  # libhdf5 asks for as much memory as a damaged file claims to need, and takes a refusal as an error.
  [ "$target" = hdf5 ] && largest=0 || largest=512
  if ASAN_OPTIONS=allocator_may_return_null=1 "./${target}_fuzz" -max_total_time="$seconds" -max_len="$length" -timeout=10 -rss_limit_mb=2048 \
    -malloc_limit_mb=$largest -artifact_prefix="found/$target-" -print_final_stats=1 "corpus/$target" \
    "../../tests/fuzz/corpus/$target" >"found/$target.log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "found/$target.log") inputs, nothing found"
  else
    echo "$target: FAILED, see build/fuzz/found/$target.log" && failed=1
  fi
done
exit $failed
