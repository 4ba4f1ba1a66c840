#!/usr/bin/env bash
# Tests one algorithm quickly after an edit: builds it and its members, and runs the shared battery on it, on
# the CPU and on fibers (also on a GPU if build/try is configured with CUDA).
# Usage: scripts/try.sh NAME [GTEST_OPTION...]
#   NAME  an entry, a glob over entries, or the stem of a file, which stands for all of the file's entries: bms-block,
#         'qms-*', cpu/heap, my_select
# The first call also compiles the harness.
set -euo pipefail
if [ $# -eq 0 ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
fi
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
name=$1
shift
need build test
python_environment scripts/requirements.txt plots/requirements.txt tests/requirements.txt

# The entries to test: NAME, or if it is the stem of a file and no entry, those of the file and their variants.
entries=("$name")
file=$(find algorithms baselines \( -name "$name.cu" -o -name "$name.cpp" \) -print -quit)
if [ -n "$file" ] && ! grep -rqE "^// Entries: (.*, )?$name(,|\$)" algorithms baselines; then
  mapfile -t entries < <(sed -n 's|^// Entries: ||p' "$file" | tr -s ', ' '\n' | sed 'p; s/$/+*/')
  [ ${#entries[@]} -gt 0 ] || entries=("$name")
fi

build=build/try
# -O1 and only line numbers for a debugger, to compile faster.
cmake --preset cpu -B "$build" -DKSELECT_ALGORITHMS="$name" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG" -DKSELECT_UNITY=ON >/dev/null
cmake --build "$build" --target kselect_battery

filter=""
for entry in "${entries[@]}"; do
  # GoogleTest names contain only letters, digits and underscores.
  filter+="${filter:+:}*/$(tr -c 'a-zA-Z0-9*?\n' _ <<<"$entry")_on_*"
done
if [ -z "$("$build/tests/kselect_battery" --gtest_list_tests "--gtest_filter=$filter" "$@" | grep '^  ')" ]; then
  echo "no test of the battery is called $filter; scripts/try.sh takes an entry's name or a glob" >&2
  exit 2
fi
shares=$(nproc)
failed=0 jobs=()
for ((share = 0; share < shares; ++share)); do
  OMP_WAIT_POLICY=passive GTEST_TOTAL_SHARDS=$shares GTEST_SHARD_INDEX=$share \
    "$build/tests/kselect_battery" --gtest_brief=1 "--gtest_filter=$filter" "$@" &
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
[ $failed = 0 ] && say "$name: proven by the battery"
exit $failed
