#!/usr/bin/env bash
# Does each tier of scripts/test.sh find what it is for? Plants the faults of tests/planted/patches in this
# tree, one after another, builds what `scripts/test.sh --all` has built before, and runs the test that is to
# find each: in the short tier's build and, where the patch says `Tier: all`, in the others'.
# Usage: scripts/planted_faults.sh [NAME...]
# Ends with a table; exits 1 if a fault was not found. The tree must be clean; it is put right again.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
export PATH="$root/.venv/bin:$PATH"
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo "commit or stash your changes first: faults are planted in this tree" >&2
  exit 2
fi
mkdir -p out/planted
planted=
trap '[ -z "$planted" ] || git apply -R "$planted"' EXIT

# found TEST BUILD: whether building or the test fails in that build.
found() {
  local BUILD=build/test-$2 log=out/planted/$name-$2.log
  : >"$log"
  case $2 in
  gpu) # one object shows it
    ! cmake --build "$BUILD" --target CMakeFiles/kselect_algorithms.dir/algorithms/heap_reduction/heap_reduction.cu.o >>"$log" 2>&1
    return
    ;;
  esac
  case $1 in
  *^tests*) cmake --build "$BUILD" --target kselect_tests >>"$log" 2>&1 ;;
  *^battery*) cmake --build "$BUILD" --target kselect_battery >>"$log" 2>&1 ;;
  *python.cli*) cmake --build "$BUILD" --target kselect >>"$log" 2>&1 ;;
  esac || {
    echo "does not compile: $log" >&2
    exit 2
  }
  # The short tier's battery: three samples, for what one leaves out by chance another has.
  local sample samples=('')
  if [[ $2 == cpu && $1 == *^battery* ]]; then samples=(sample:1 sample:2 sample:3); fi
  for sample in "${samples[@]}"; do
    if ! (export KSELECT_BATTERY=$sample && eval "$1 -j 2 --no-tests=error") >>"$log" 2>&1; then return 0; fi
  done
  return 1
}

table=() missed=0
for patch in tests/planted/patches/*.patch; do
  name=$(basename "$patch" .patch)
  if [ $# -ne 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  what=$(sed -n '1s/^# //p' "$patch") tier=$(sed -n 's/^# Tier: //p' "$patch") test=$(sed -n 's/^# Test: //p' "$patch")
  git apply "$patch"
  planted=$patch
  short=no all=yes
  if [[ $test == cmake* ]]; then
    found "$test" gpu || all=no
  else
    if found "$test" cpu; then short=yes; fi
    if [ $short = no ]; then found "$test" cpu-asan-ubsan || all=no; fi
  fi
  git apply -R "$patch"
  planted=
  if [ $all = no ] || { [ "$tier" = short ] && [ $short = no ]; }; then missed=1; fi
  table+=("| \`$name\` | $what | $short | $all |")
  echo "${table[-1]}"
done
echo
printf '%s\n' '| fault | what it does | short tier | --all |' '|---|---|---|---|' "${table[@]}"
exit $missed
